// The launch shapes that the tests of kernels run with.
#ifndef WARPFOLD_TESTS_GPU_GPU_SHAPE_H_
#define WARPFOLD_TESTS_GPU_GPU_SHAPE_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "kernels/cuda/device.h"
#include "tests/gpu/overlaps_passes.h"

namespace warpfold {

// Of the first GPU.
inline cuda::DeviceShape TestedShape() {
  cuda::DeviceShape shape;
  EXPECT_EQ(cuda::GetDeviceShape(0, &shape), cudaSuccess);
  shape.overlaps_passes &= TestsOverlapPasses();
  return shape;
}

// Of one SM, without overlapping passes, and with the shared memory of compute capability 7.5, the
// least of all: the launch shape follows the device, the bits must not.
inline constexpr cuda::DeviceShape kSmallShape = {
    .sm_count = 1, .overlaps_passes = false, .shared_bytes_per_block = 64 << 10};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_GPU_GPU_SHAPE_H_
