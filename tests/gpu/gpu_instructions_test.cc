// What PTX says in one instruction, against the same in integers: by the code for this GPU, and by
// that for the oldest, which every GPU can compile (75-virtual).
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/instructions_on_gpu.h"
#include "tests/kernels/extreme.h"

namespace warpfold::cuda {
namespace {

class GpuInstructionsTest : public GpuFixture {};

std::uint16_t BitsOfLifted(std::uint32_t code) {
  return Lift(F8E4M3{static_cast<std::uint8_t>(code)}).bits;
}
bool IsNanHalf(std::uint32_t bits) { return (bits & 0x7fff) > 0x7c00; }

// The same number; any NaN is like another.
bool AreAlike(std::uint32_t half, std::uint32_t other) {
  return half == other || (IsNanHalf(half) && IsNanHalf(other));
}

TEST_F(GpuInstructionsTest, LiftsAllPairsOfE4M3) {
  std::vector<std::uint32_t> pairs(1 << 16);
  // What is above the two does not matter.
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = static_cast<std::uint32_t>(i | (i * 40503 & 0xffff) << 16);
  }
  const std::vector<std::uint32_t> lifted = LiftE4M3Pairs(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_TRUE(AreAlike(lifted[i] & 0xffff, BitsOfLifted(pairs[i] & 0xff))) << i;
    EXPECT_TRUE(AreAlike(lifted[i] >> 16, BitsOfLifted(pairs[i] >> 8 & 0xff))) << i;
  }
}

TEST_F(GpuInstructionsTest, LiftsAllOfE4M3) {
  std::vector<F8E4M3> codes;
  for (int code = 0; code < 256; ++code) codes.push_back({static_cast<std::uint8_t>(code)});
  const std::vector<std::uint16_t> lifted = LiftAll(codes);
  for (std::uint32_t code = 0; code < 256; ++code) {
    EXPECT_TRUE(AreAlike(lifted[code], BitsOfLifted(code))) << code;
  }
}

constexpr Which kAllOfThem[] = {{true, true}, {true, false}, {false, true}, {false, false}};

std::string TextOf(Which which) {
  return std::string(which.is_min ? "min" : "max") + (which.omits_nan ? "" : ".NaN");
}

template <typename T>
T InIntegers(Which which, T a, T b) {
  if (which.is_min) {
    return which.omits_nan ? ExtremeByKey<true, true>(a, b) : ExtremeByKey<true, false>(a, b);
  }
  return which.omits_nan ? ExtremeByKey<false, true>(a, b) : ExtremeByKey<false, false>(a, b);
}

// Pairs of `all` and of each of its `others`-th.
template <typename T>
void AreExtremesInIntegers(const std::vector<T>& all, std::size_t others) {
  std::vector<T> a;
  std::vector<T> b;
  for (std::size_t j = 0; j < all.size(); j += others) {
    a.insert(a.end(), all.begin(), all.end());
    b.insert(b.end(), all.size(), all[j]);
  }
  for (const Which which : kAllOfThem) {
    const std::vector<T> got = Extremes(which, a, b);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto want = BitCast<BitsOf<T>>(InIntegers(which, a[i], b[i]));
      if (BitCast<BitsOf<T>>(got[i]) == want) continue;
      if (++wrong > 5) break;
      ADD_FAILURE() << TextOf(which) << " of " << BitCast<BitsOf<T>>(a[i]) << " and "
                    << BitCast<BitsOf<T>>(b[i]) << " is " << BitCast<BitsOf<T>>(got[i]) << ", not "
                    << want;
    }
  }
}

template <typename T>
std::vector<T> AllOf16Bits() {
  std::vector<T> all;
  for (int bits = 0; bits < 1 << 16; ++bits) all.push_back({static_cast<std::uint16_t>(bits)});
  return all;
}

TEST_F(GpuInstructionsTest, ExtremesOfHalves) { AreExtremesInIntegers(AllOf16Bits<Half>(), 509); }
TEST_F(GpuInstructionsTest, ExtremesOfBFloat16) {
  AreExtremesInIntegers(AllOf16Bits<BFloat16>(), 509);
}

TEST_F(GpuInstructionsTest, ExtremesOfFloats) {
  constexpr std::uint32_t kSeed = 20261129;
  std::mt19937 random(kSeed);
  std::vector<float> all = {0.0F, -0.0F, INFINITY, -INFINITY, NAN, -NAN, 1e-45F, -1e-45F, 1, -1};
  while (all.size() < 1000) all.push_back(BitCast<float>(static_cast<std::uint32_t>(random())));
  AreExtremesInIntegers(all, 1);
}

TEST_F(GpuInstructionsTest, ExtremesOfPairsOfHalves) {
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;
  for (std::uint32_t i = 0; i < 1 << 16; ++i) {
    for (std::uint32_t j = 0; j < 1 << 16; j += 1021) {
      a.push_back(i | j << 16);
      b.push_back(j | (i * 40503 & 0xffff) << 16);
    }
  }
  for (const Which which : kAllOfThem) {
    const std::vector<std::uint32_t> got = ExtremePairs(which, a, b);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < a.size() && wrong < 5; ++i) {
      for (const int shift : {0, 16}) {
        const Half of_a{static_cast<std::uint16_t>(a[i] >> shift)};
        const Half of_b{static_cast<std::uint16_t>(b[i] >> shift)};
        const Half want = InIntegers(which, of_a, of_b);
        if ((got[i] >> shift & 0xffff) == want.bits) continue;
        ++wrong;
        ADD_FAILURE() << TextOf(which) << " of " << of_a.bits << " and " << of_b.bits;
      }
    }
  }
}

}  // namespace
}  // namespace warpfold::cuda
