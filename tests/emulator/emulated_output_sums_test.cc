// The exact sums of many outputs on the emulated GPU.
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/emulator/device.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/output_sums_cases.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold {
namespace {

// Its memory is the host's.
class EmulatedDevice {
 public:
  std::unique_ptr<char[]> Allocate(std::size_t bytes) { return std::make_unique<char[]>(bytes); }
  static void Put(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static void Get(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  cuda::DeviceShape shape() {
    return {.sm_count = random_() % 2 == 0 ? 1 : 3, .overlaps_passes = true};
  }
  static cudaStream_t stream() { return nullptr; }

 private:
  std::mt19937_64 random_;
};

class EmulatedOutputSumsTest : public ::testing::TestWithParam<DType> {};

TEST_P(EmulatedOutputSumsTest, HaveTheCpusBits) {
  constexpr std::uint64_t kSeed = 20261127;
  std::cout << "seed " << kSeed << '\n';
  emulator::SetSeed(kSeed);
  EmulatedDevice device;
  testing::OutputSumsCases cases(device, GetParam(), kSeed);
  cases.ExpectZeros();
  cases.ExpectManyOutputs(1, {5});
  for (int round = 0; round < testing::Rounds(20) && !HasFailure(); ++round) {
    cases.ExpectSums(round % 5 == 0 ? 20'000 : 300);
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, EmulatedOutputSumsTest, ::testing::ValuesIn(testing::kFloatDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace warpfold
