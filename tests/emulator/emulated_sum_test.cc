// The exact sums' kernels on the emulated GPU, on rows that no window holds as well as on those
// that one does.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/exact_sum.h"
#include "tests/emulator/device.h"
#include "tests/emulator/guarded_memory.h"
#include "tests/kernels/exact/hard_rows.h"

namespace warpfold {
namespace {

using T = WARPFOLD_ELEMENT;
using Result = FloatOf<T>;
using Bits = exact::FloatFormat<Result>::Bits;

class EmulatedSumTest : public ::testing::Test {
 protected:
  EmulatedSumTest() {
    emulator::SetSeed(kSeed);
    std::cout << "seed " << kSeed << '\n';
  }

  // On a GPU of so many SMs.
  Result Sum(const std::vector<T>& row, int sm_count) {
    const std::size_t bytes = row.size() * sizeof(T);
    const std::size_t offset = sizeof(T) * (random_() % (16 / sizeof(T)));
    const emulator::GuardedMemory data(bytes, offset);
    std::memcpy(data.data(), row.data(), bytes);
    Result result{};
    const cuda::DeviceShape device{.sm_count = sm_count, .overlaps_passes = true};
    EXPECT_EQ(cuda::ExactSum(reinterpret_cast<const T*>(data.data()),
                             static_cast<std::int64_t>(row.size()), device, scratch_.data(),
                             &result, nullptr),
              cudaSuccess);
    // What the next sum finds.
    EXPECT_EQ(scratch_, std::vector<std::uint64_t>(scratch_.size()));
    return result;
  }
  void ExpectSum(const std::vector<T>& row, int sm_count) {
    ASSERT_EQ(BitCast<Bits>(Sum(row, sm_count)), BitCast<Bits>(testing::ExactCpuSum(row)))
        << row.size() << " elements, " << sm_count << " SMs";
  }

  static constexpr std::uint64_t kSeed = 20261126;
  std::mt19937_64 random_{kSeed};
  std::vector<std::uint64_t> scratch_ =
      std::vector<std::uint64_t>(cuda::ExactSumScratchBytes<T>() / sizeof(std::uint64_t) + 1);
};

TEST_F(EmulatedSumTest, EveryKindOfElementsInOneBlock) {
  for (const testing::HardFloat kind : testing::kHardFloats) {
    for (const std::size_t count : {1, 3, 31, 1000, 5000}) {
      ExpectSum(testing::HardRow<T>(kind, count, random_), 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(EmulatedSumTest, TheEdgesOfAWindow) {
  using Format = exact::FloatFormat<T>;
  for (const int field : {(1 << Format::kExponentBits) / 2, (1 << Format::kExponentBits) / 3}) {
    for (int apart = 0; apart < std::min(60, field); ++apart) {
      // The sum of whole tiles, of which no rest hides what is lost.
      for (const bool negative : {false, true}) {
        ExpectSum(testing::RowApart<T>(4096, field, apart, negative), 1);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Windows move, are left and come back.
TEST_F(EmulatedSumTest, ElementsOfAnyKindsInManyBlocks) {
  constexpr std::size_t kMoreThanABlock = (64 << 10) / sizeof(T);
  for (int round = 0; round < 6; ++round) {
    const std::size_t count = kMoreThanABlock + random_() % (3 * kMoreThanABlock);
    const int sm_count = 1 + static_cast<int>(random_() % 3);
    ExpectSum(testing::MixedHardRow<T>(count, 4000, random_), sm_count);
    if (HasFatalFailure()) return;
  }
}

TEST_F(EmulatedSumTest, SpecialsInManyBlocks) {
  constexpr std::size_t kMoreThanABlock = (64 << 10) / sizeof(T);
  std::vector<T> row(2 * kMoreThanABlock, NegativeZero<T>());
  ExpectSum(row, 2);
  if constexpr (kHasInfinities<T>) {
    row[row.size() / 3] = Infinity<T>(false);
    ExpectSum(row, 2);
    row.back() = Infinity<T>(false);
    ExpectSum(row, 2);
    row.front() = Infinity<T>(true);
    ExpectSum(row, 2);
  }
  row.front() = QuietNan<T>();
  ExpectSum(row, 2);
}

// As many as the words of their digits take, and more.
TEST_F(EmulatedSumTest, TheLargestMantissasOfWideTiles) {
  ExpectSum(testing::WideRowOfOneSign<T>(2'000'000), 1);
}

// Among elements that no window holds, from the tile on that says so.
TEST_F(EmulatedSumTest, SpecialsAmongWideElements) {
  std::vector<T> specials = {QuietNan<T>()};
  if constexpr (kHasInfinities<T>) {
    specials.push_back(Infinity<T>(false));
    specials.push_back(Infinity<T>(true));
  }
  for (const T x : specials) {
    std::vector<T> row = testing::HardRow<T>(testing::HardFloat::kEightyBinades, 20'000, random_);
    for (const std::size_t at : {0, 7'000, 15'000, 19'999}) {
      const T before = std::exchange(row[at], x);
      ExpectSum(row, 1);
      row[at] = before;
    }
  }
}

}  // namespace
}  // namespace warpfold
