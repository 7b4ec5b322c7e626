// One pass over an input that lies in device memory: what it takes beside that, and its results.
#ifndef WARPFOLD_TESTS_GPU_DEVICE_REDUCTION_H_
#define WARPFOLD_TESTS_GPU_DEVICE_REDUCTION_H_

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cuda/reduce.h"
#include "kernels/plan.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/reduce/results.h"

namespace warpfold {

class DeviceReduction {
 public:
  DeviceReduction(const Plan& plan, const cuda::DeviceShape& device)
      : job_{plan.dtype, plan.fused_op_set(), device},
        extent_{plan.geometry.outer, plan.geometry.reduce, plan.geometry.inner},
        layout_(plan),
        d_results_(*cuda::AllocateDevice(BlockBytes())),
        d_scratch_(*cuda::AllocateDevice(cuda::ElementsScratchBytes(job_, extent_) + 1)) {
    const Overflow none;
    // Results that nobody writes must show.
    EXPECT_EQ(cudaMemset(d_results_.get(), 0xab, BlockBytes()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(d_results_.get(), &none, sizeof(none), cudaMemcpyHostToDevice),
              cudaSuccess);
    // Streams do not wait for the legacy stream that filled the memory.
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    output_.targets = layout_.Targets(plan, d_results_.get() + sizeof(Overflow));
    output_.overflow = reinterpret_cast<Overflow*>(d_results_.get());
    output_.undecided.counts = reinterpret_cast<UndecidedCounts*>(d_results_.get() + BlockBytes() -
                                                                  sizeof(UndecidedCounts));
  }

  void Enqueue(const void* d_data, cudaStream_t stream) const {
    EXPECT_EQ(cuda::FoldElements(job_, d_data, extent_, output_, d_scratch_.get(), stream),
              cudaSuccess);
  }

  // An array for each op; of what has ended.
  std::vector<std::string> Results() const {
    std::vector<char> block(BlockBytes());
    EXPECT_EQ(cudaMemcpy(block.data(), d_results_.get(), block.size(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return *layout_.Extract(block.data() + sizeof(Overflow));
  }
  // Op number `op`'s array, on the device.
  const void* d_results(int op) const { return output_.targets.arrays[op]; }

 private:
  // Undecided outputs are counted behind the results, and nobody looks.
  std::size_t BlockBytes() const {
    return sizeof(Overflow) + (layout_.total_bytes() + 7) / 8 * 8 + sizeof(UndecidedCounts);
  }

  cuda::Job job_;
  Extent extent_;
  ResultLayout layout_;
  cuda::UniqueDeviceMemory d_results_;
  cuda::UniqueDeviceMemory d_scratch_;
  Output output_;
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_GPU_DEVICE_REDUCTION_H_
