// The exact sums of many outputs on a GPU against the CPU's, bit for bit.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

#include "server/device/cuda/memory/cuda_resources.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/gpu_shape.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/output_sums_cases.h"

namespace warpfold {
namespace {

class RealDevice {
 public:
  RealDevice(const cuda::DeviceShape& shape, cudaStream_t stream)
      : shape_(shape), stream_(stream) {}

  cuda::UniqueDeviceMemory Allocate(std::size_t bytes) {
    auto memory = *cuda::AllocateDevice(bytes + 1);
    EXPECT_EQ(cudaMemsetAsync(memory.get(), 0, bytes + 1, stream_), cudaSuccess);
    return memory;
  }
  void Put(void* to, const void* from, std::size_t bytes) {
    EXPECT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  void Get(void* to, const void* from, std::size_t bytes) {
    EXPECT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  const cuda::DeviceShape& shape() const { return shape_; }
  cudaStream_t stream() const { return stream_; }

 private:
  const cuda::DeviceShape shape_;
  const cudaStream_t stream_;
};

class GpuOutputSumsTest : public GpuFixture, public ::testing::WithParamInterface<DType> {
 protected:
  void ExpectSums(int rounds, std::int64_t elements) {
    for (const cuda::DeviceShape& shape : {TestedShape(), kSmallShape}) {
      RealDevice device(shape, stream_.get());
      testing::OutputSumsCases cases(device, GetParam(), kSeed);
      cases.ExpectZeros();
      cases.ExpectManyOutputs(6, {5, 70});
      for (int i = 0; i < testing::Rounds(rounds) && !HasFailure(); ++i) cases.ExpectSums(elements);
    }
  }

  static constexpr std::uint64_t kSeed = 20261127;
};

TEST_P(GpuOutputSumsTest, HaveTheCpusBits) {
  std::cout << "seed " << kSeed << '\n';
  ExpectSums(150, 500);
  ExpectSums(20, 50'000);
  ExpectSums(2, 3'000'000);
}

INSTANTIATE_TEST_SUITE_P(Floats, GpuOutputSumsTest, ::testing::ValuesIn(testing::kFloatDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace warpfold
