// The CUDA kernels behind one host interface, for any dtype and fused op set. docs/numerics.md
// defines what they compute; kernels/cpu/reduce.h computes the same bits. Sums of floats may be
// left undecided (Output::undecided), which output_sums.h sums again.
//
// Every function enqueues on `stream` (always the last parameter) and returns at once; nothing here
// synchronises, allocates or keeps state. All pointers are device pointers. cudaSuccess means
// enqueued; a returned error is a launch error.
#ifndef WARPFOLD_KERNELS_CUDA_REDUCE_H_
#define WARPFOLD_KERNELS_CUDA_REDUCE_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/batch.h"
#include "kernels/cuda/launch_plan.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/fold.h"
#include "kernels/types.h"

namespace warpfold::cuda {

// What is folded, and on what.
struct Job {
  DType dtype = DType::kF32;
  FusedOpSet fused_op_set = FusedOpSet::kSum;
  DeviceShape device;
  bool is_product = false;  // of floats: PROD alone, which is no part of the fused op set's fold
};

// Bytes of one partial state.
std::size_t StateBytes(const Job& job);

// Bytes of scratch that FoldElements and FoldStates need for partials; 0 when one pass does it.
std::size_t ElementsScratchBytes(const Job& job, const Extent& extent);
std::size_t StatesScratchBytes(const Job& job, const Extent& extent);

// First pass, then second passes as needed: elements [outer, count, inner] to one state or result
// for each [outer, inner]. `d_data` may have any alignment that its element type has; 16 bytes are
// fastest. REQUIRES: no extent is 0.
[[nodiscard]] cudaError_t FoldElements(const Job& job, const void* d_data, const Extent& extent,
                                       const Output& output, void* d_scratch, cudaStream_t stream);

// Many tensors in one launch, one pass: the results of FoldElements({1, count, 1}) of each, where
// neither leaves them undecided. `d_items` is the table that PlanBatch has put in order and the
// caller has copied to the device; both belong to the caller, who keeps the table and what it
// points at until the items' item_statuses are there or the stream has passed the launch. Of the
// job's shape nothing is used. REQUIRES: at least one item.
[[nodiscard]] cudaError_t FoldBatch(const Job& job, const BatchItem* d_items,
                                    const BatchLaunch& launch, cudaStream_t stream);

// FoldElements from states.
[[nodiscard]] cudaError_t FoldStates(const Job& job, const void* d_states, const Extent& extent,
                                     const Output& output, void* d_scratch, cudaStream_t stream);

// Joins each of `count` states to the one of its number at `d_to`.
[[nodiscard]] cudaError_t JoinStates(const Job& job, const void* d_states, std::int64_t count,
                                     void* d_to, cudaStream_t stream);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_REDUCE_H_
