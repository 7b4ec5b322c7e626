// A reduction of tensors that lie in device memory: planned once on the host, and enqueued on a
// stream any number of times. Every sum of floats is the real sum, rounded once.
//
//   DeviceShape device;
//   cuda::GetDeviceShape(0, &device);
//   cuda::LoadKernels(DType::kF32);  // or the first launch loads, which a capture does not allow
//   const absl::StatusOr<cuda::Reduction> mean =
//       cuda::Reduction::Make({.dtype = DType::kF32, .shape = {4096, 1024}, .ops = {Op::kMean},
//                              .axes = {1}}, device);
//   ... allocates mean->workspace_bytes(), and mean->plan().output_count results
//   mean->Prepare(d_workspace, stream);  // once
//   void* const results[] = {d_means};
//   mean->Enqueue(d_tensor, results, d_overflow, d_workspace, stream);
//
// Safe from any thread; one may be enqueued on several streams at once, each with a workspace.
#ifndef WARPFOLD_KERNELS_CUDA_REDUCTION_H_
#define WARPFOLD_KERNELS_CUDA_REDUCTION_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/output_sums.h"
#include "kernels/cuda/reduce.h"
#include "kernels/finish.h"
#include "kernels/plan.h"
#include "kernels/scratch_offsets.h"
#include "kernels/targets.h"

namespace warpfold::cuda {

class Reduction {
 public:
  // As MakePlan; also INVALID_ARGUMENT about `tensor.shape` of a tensor without elements, of which
  // there is nothing to enqueue, and UNIMPLEMENTED of a dtype that this build has no kernels of.
  static absl::StatusOr<Reduction> Make(const ReduceSpec& spec, const DeviceShape& device);
  // Of a plan of some elements, by such a build. REQUIRES: it leaves results.
  Reduction(Plan plan, const DeviceShape& device);

  const Plan& plan() const { return plan_; }

  // Of device memory, on a multiple of 256 bytes; where it is 0, the workspace may be null. It may
  // be larger, and belongs to one reduction: after another one's launch it has to be prepared anew.
  std::size_t workspace_bytes() const { return offsets_.total_bytes(); }

  // Enqueues what a workspace needs before its first launch, and may be captured, too: zeros in its
  // first bytes, which each launch leaves as it found them. Again where something else was written
  // there, or a launch failed.
  [[nodiscard]] cudaError_t Prepare(void* d_workspace, cudaStream_t stream) const;

  // Enqueues the reduction of `d_tensor`, in C order, on `stream`, and returns: allocates nothing,
  // waits for nothing and may be captured into a graph. Results, of plan().result_dtype(i), go to
  // results[i] of op i: plan().output_count of them, in C order, in memory that the device writes,
  // its own or pinned memory of the host. All arrays begin on a multiple of their elements' size (a
  // tensor on 16 bytes is read fastest), and none overlaps another. The stream is of the current
  // device, and that is what Make was told of; null is the legacy default stream. Once this has
  // returned, the Reduction and `results` itself may end.
  //
  // What does not fit (MayOverflow) is put down in `overflow`, in such memory too, which starts as
  // Overflow{} and stays as it is until somebody sets it to that again; the result itself then is
  // undefined. OverflowStatus says in words what it holds. It may be null where nothing overflows.
  //
  // Launches that share a prepared workspace have to be in one stream, or behind one another by
  // events. cudaErrorInvalidValue: not one array for each op, or no `overflow`;
  // cudaErrorMisalignedAddress: see above; any other error is of a launch.
  [[nodiscard]] cudaError_t Enqueue(const void* d_tensor, std::span<void* const> results,
                                    Overflow* overflow, void* d_workspace,
                                    cudaStream_t stream) const;

 private:
  // A fold of the elements, and of its states further out.
  struct Pass {
    Job job;
    std::vector<std::size_t> states_at;  // what each fold of the geometry reads, in the workspace
    std::size_t partials_at = 0;
  };

  void AddPass(const Job& job);
  cudaError_t Fold(const Pass& pass, const void* d_tensor, const Output& output,
                   std::byte* d_workspace, cudaStream_t stream) const;

  Plan plan_;
  DeviceShape device_;
  ScratchOffsets offsets_;
  // At the workspace's beginning: zeros whenever a launch starts, and ends.
  std::size_t zeroed_bytes_ = 0;
  bool is_whole_sum_ = false;  // one kernel, and nothing else
  std::vector<Pass> passes_;
  // Of floats, what is summed exactly where bounded sums do not tell a result.
  bool recomputes_ = false;
  SumsJob sums_;
  std::size_t sums_at_ = 0;
  std::size_t numbers_at_ = 0;
  std::int64_t numbers_max_ = 0;
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_REDUCTION_H_
