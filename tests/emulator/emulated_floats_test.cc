// The exact steps of examples/reduce/floats.cu, against a sum in 128 bits that is rounded once.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/emulator/device.h"
#include "tests/emulator/guarded_memory.h"

#define REDUCE_WITHOUT_MAIN
#include "floats_example.inc"

namespace warpfold {
namespace {

class EmulatedFloatsTest : public ::testing::TestWithParam<floats::Step> {
 protected:
  EmulatedFloatsTest() {
    constexpr std::uint64_t kSeed = 20261127;
    std::cout << "seed " << kSeed << '\n';
    emulator::SetSeed(kSeed);
  }
  // A second time, since the count of blocks is left behind. In memory that ends where it may be
  // read and written.
  static void ExpectSum(const std::vector<float>& in, unsigned blocks, float expected) {
    const emulator::GuardedMemory floats(in.size() * sizeof(float));
    std::memcpy(floats.data(), in.data(), in.size() * sizeof(float));
    const emulator::GuardedMemory scratch(floats::ScratchBytes(blocks));
    std::memset(scratch.data(), 0, floats::ScratchBytes(blocks));
    for (int time = 0; time < 2; ++time) {
      float sum = 0;
      ASSERT_EQ(floats::Enqueue(GetParam(), reinterpret_cast<const float*>(floats.data()),
                                in.size(), blocks, scratch.data(), nullptr),
                cudaSuccess);
      std::memcpy(&sum, scratch.data(), sizeof(sum));
      std::memset(scratch.data(), 0xff, sizeof(sum));
      ASSERT_EQ(std::memcmp(&sum, &expected, sizeof(sum)), 0)
          << in.size() << " floats, " << blocks << " blocks, time " << time << ": " << sum
          << ", not " << expected;
    }
  }
};

TEST_P(EmulatedFloatsTest, AddsUpEverySizeOfAnyData) {
  for (const floats::Data data : {floats::kAlike, floats::kWide, floats::kCancelling}) {
    for (const std::size_t n : {1, 3, 4, 255, 256, 257, 2047, 2048, 20'003}) {
      const std::vector<float> in = floats::Make(data, n);
      const float expected = floats::RoundedOnce(floats::ExactSum(in.data(), n));
      for (const unsigned blocks : {1U, 3U}) ExpectSum(in, blocks, expected);
    }
  }
}

TEST_P(EmulatedFloatsTest, RoundsOnceAtEveryEdge) {
  const float least = std::ldexp(1.0F, -149), most = std::ldexp(1.0F, 127);
  const float after_one = 1 + std::ldexp(1.0F, -23), half = std::ldexp(1.0F, -24);
  ExpectSum({least}, 1, least);
  ExpectSum({least, least, -least}, 1, least);
  ExpectSum({1, half}, 1, 1);                 // a tie goes to the even float
  ExpectSum({1, half, least}, 1, after_one);  // beside it, by the least there is
  ExpectSum({after_one, half}, 1, 1 + 4 * half);
  ExpectSum({most, most, -most}, 1, most);  // no sum on the way overflows
  ExpectSum({most, most}, 1, INFINITY);
  ExpectSum({-most, most, -least}, 1, -least);
  ExpectSum(std::vector<float>(5000, -most), 1, -INFINITY);
  ExpectSum(std::vector<float>(4096, 0.1F), 3, 4096 * 0.1F);
}

std::vector<floats::Step> ExactSteps() {
  std::vector<floats::Step> exact;
  for (const floats::Step& step : floats::kSteps) {
    if (step.is_exact) exact.push_back(step);
  }
  return exact;
}
INSTANTIATE_TEST_SUITE_P(Steps, EmulatedFloatsTest, ::testing::ValuesIn(ExactSteps()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace warpfold
