// Tests of kernels: a stream on the first GPU, or the reason why they skip.
#ifndef WARPFOLD_TESTS_GPU_GPU_FIXTURE_H_
#define WARPFOLD_TESTS_GPU_GPU_FIXTURE_H_

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "server/device/cuda/memory/cuda_resources.h"

namespace warpfold {

class GpuFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
      GTEST_SKIP() << "no GPU answers: " << cudaGetErrorString(error);
    }
    stream_ = *cuda::MakeStream();
  }

  cuda::UniqueStream stream_;
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_GPU_GPU_FIXTURE_H_
