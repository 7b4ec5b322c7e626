// Kernels can be loaded before they are asked for. A process for each of these tests, side by side
// (gpu-check --warm), fills the driver's cache where it has to compile.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/cuda/architectures.h"
#include "kernels/cuda/device.h"
#include "kernels/types.h"
#include "tests/gpu/gpu_fixture.h"

namespace warpfold {
namespace {

class GpuLoadTest : public GpuFixture, public ::testing::WithParamInterface<DType> {};

TEST_P(GpuLoadTest, LoadsAllKernelsOf) {
  ASSERT_EQ(cuda::LoadKernels(GetParam()), cudaSuccess);
  // Again, of what is there already.
  EXPECT_EQ(cuda::LoadKernels(GetParam()), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(DTypes, GpuLoadTest, ::testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

using GpuCodeTest = GpuFixture;
TEST_F(GpuCodeTest, FitsThisGpu) {
  cudaDeviceProp gpu;
  ASSERT_EQ(cudaGetDeviceProperties(&gpu, 0), cudaSuccess);
  const cuda::ComputeCapability capability{gpu.major, gpu.minor};
  EXPECT_NE(cuda::CodeFor(capability).match, cuda::CodeMatch::kNone)
      << cuda::ToString(capability) << "; this build has code for "
      << cuda::ToString(cuda::CompiledArchitectures());
}

}  // namespace
}  // namespace warpfold
