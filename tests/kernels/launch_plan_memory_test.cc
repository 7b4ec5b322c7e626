// Blocks ask for no more shared memory than GPUs of each compute capability give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/launch_plan.h"

namespace warpfold::cuda {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": KiB of shared
// memory a block may ask for.
struct Gpu {
  const char* compute_capability;
  int shared_kib;
  int sm_count;
};
constexpr Gpu kGpus[] = {{"7.5, T4", 64, 40},
                         {"8.0, A100", 163, 108},
                         {"8.6, A10", 99, 72},
                         {"12.0, RTX 5090", 99, 170},
                         {"9.0, H200", 227, 132}};

DeviceShape ShapeOf(const Gpu& gpu) {
  return {.sm_count = gpu.sm_count, .shared_bytes_per_block = gpu.shared_kib << 10};
}

// Calls visit(launch) for the plan of columns of many sizes.
template <class Visit>
void VisitPipelinedPlans(const DeviceShape& device, const Visit& visit) {
  for (std::int64_t outputs = 1; outputs <= std::int64_t{1} << 22; outputs *= 2) {
    for (std::int64_t leaves = 1; leaves <= std::int64_t{1} << 22; leaves *= 2) {
      for (const int vector : {2, 4}) {
        visit(PlanColumns(outputs * vector, vector, leaves, ColumnLoop::kPipelined, device));
      }
    }
  }
}

TEST(SharedMemoryOfPlans, FitsInABlockOfEveryGpu) {
  for (const Gpu& gpu : kGpus) {
    int threads_max = 0;
    VisitPipelinedPlans(ShapeOf(gpu), [&](const TreeLaunch& launch) {
      if (!launch.is_pipelined) {
        EXPECT_EQ(launch.dynamic_shared_bytes(), 0);
        return;
      }
      threads_max = std::max(threads_max, launch.threads());
      EXPECT_LE(launch.dynamic_shared_bytes() + kTreeDeclaredSharedBytesMax, gpu.shared_kib << 10)
          << gpu.compute_capability << ", " << launch.threads() << " threads";
    });
    // 64 KiB hold the two leaves of 256 threads and nothing beside.
    EXPECT_EQ(threads_max, gpu.shared_kib > 64 ? 256 : 128) << gpu.compute_capability;
  }
}

TEST(SharedMemoryOfPlans, FindsAnotherPlanWhereABlockHasTooLittle) {
  const DeviceShape t4 = ShapeOf(kGpus[0]);
  const TreeLaunch launch = PlanColumns(1 << 19, 4, 1 << 10, ColumnLoop::kPipelined, t4);
  EXPECT_FALSE(launch.is_pipelined);
  EXPECT_EQ(launch.vector, 4);
  EXPECT_GE(launch.leaves, 8);
}

}  // namespace
}  // namespace warpfold::cuda
