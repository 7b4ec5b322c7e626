#include "server/core/tensors/byte_ranges.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

// The same set as one flag a byte.
class Flags {
 public:
  explicit Flags(std::size_t size) : flags_(size) {}
  void Set(const ByteRange& range, bool value) {
    for (std::int64_t i = range.begin; i < range.end; ++i) flags_[i] = value;
  }
  bool Any(const ByteRange& range) const {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if (flags_[i]) return true;
    }
    return false;
  }
  std::int64_t Sum() const {
    std::int64_t sum = 0;
    for (const bool flag : flags_) sum += flag ? 1 : 0;
    return sum;
  }
  std::size_t Runs() const {
    std::size_t runs = 0;
    for (std::size_t i = 0; i < flags_.size(); ++i) {
      if (flags_[i] && (i == 0 || !flags_[i - 1])) ++runs;
    }
    return runs;
  }

 private:
  std::vector<bool> flags_;
};

TEST(ByteRangesTest, AgreesWithOneFlagAByte) {
  constexpr std::int64_t kSize = 64;
  std::mt19937_64 random(20261121);
  for (int round = 0; round < 200; ++round) {
    ByteRanges ranges;
    Flags flags(kSize);
    for (int step = 0; step < 100; ++step) {
      ByteRange range;
      range.begin = static_cast<std::int64_t>(random() % kSize);
      range.end = range.begin + 1 + static_cast<std::int64_t>(random() % (kSize - range.begin));
      if (random() % 2 == 0) range.end = std::min(range.end, range.begin + 4);
      EXPECT_EQ(ranges.Overlaps(range), flags.Any(range));
      const bool adds = random() % 2 == 0;
      adds ? ranges.Add(range) : ranges.Remove(range);
      flags.Set(range, adds);
      ASSERT_EQ(ranges.size_bytes(), flags.Sum()) << "round " << round << ", step " << step;
      ASSERT_EQ(ranges.count(), flags.Runs()) << "round " << round << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace warpfold
