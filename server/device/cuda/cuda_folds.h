// All that a reduction folds on a GPU: one pass over its segments, or if its results are exact some
// of them. Of floats exactly these:
//
//   SUM alone, of all of a  the exact sum, by one kernel
//   tensor in one segment
//   a tensor in one segment   a fold of bounded sums and all else but products, which may leave
//                           undecided outputs; those are summed again
//   in several segments       a fold of what is not summed, and the exact sums of each segment
//   a part of a tensor      the same, also in one segment: their states are what it comes to
//   a shard of a tensor     the fold of bounded sums, and of products: their states
//   with PROD               a fold of products beside
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_FOLDS_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_FOLDS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cpu/exact_gather.h"
#include "kernels/cuda/exact_sum.h"
#include "kernels/cuda/reduce.h"
#include "kernels/plan.h"
#include "server/device/cuda/cuda_sums.h"
#include "server/device/reduce/folding.h"
#include "server/device/reduce/segments.h"

namespace warpfold {

// The Backend that Folding drives: kernels/cuda on one stream.
class CudaBackend {
 public:
  CudaBackend(const cuda::Job& job, cudaStream_t stream) : job_(job), stream_(stream) {}

  const cuda::Job& job() const { return job_; }
  std::size_t StateBytes() const { return cuda::StateBytes(job_); }
  std::size_t ElementsScratchBytes(const Extent& extent) const {
    return cuda::ElementsScratchBytes(job_, extent);
  }
  std::size_t StatesScratchBytes(const Extent& extent) const {
    return cuda::StatesScratchBytes(job_, extent);
  }
  absl::Status FoldElements(const void* d_data, const Extent& extent, const Output& output,
                            void* d_scratch);
  absl::Status FoldStates(const void* d_states, const Extent& extent, const Output& output,
                          void* d_scratch);
  absl::Status JoinStates(const void* d_states, std::int64_t count, void* d_to);

 private:
  cuda::Job job_;
  cudaStream_t stream_;
};

class CudaFolds {
 public:
  CudaFolds(const Plan& plan, const SegmentCutter& cutter, const cuda::DeviceShape& device);

  std::size_t scratch_bytes() const { return offsets_.total_bytes(); }
  // Of a plan that leaves states, how many bytes each of them has an output.
  std::vector<std::size_t> state_bytes() const;
  // Whether the host may give memory of its own for what is left: nothing is added to it.
  bool writes_once() const { return !(sums_ && leaves_states_); }
  // Where the states lie that Finish joins, an array for each of state_bytes(), of a plan whose
  // elements are not folded here. REQUIRES: it was placed.
  std::vector<void*> JoinedStates() const;
  // Of the device's memory beside the scratch: zeros, and again once the stream has done the work.
  static constexpr std::size_t kZerosBytes = cuda::kExactSumScratchBytesMax;
  struct Places {
    std::byte* d_scratch;
    std::byte* d_zeros;
    Output results;              // or of a plan that leaves states
    std::vector<void*> states;   // each array of these
    UndecidedCounts* undecided;  // in memory that the host reads
  };
  // Where all of it lies, from now on.
  void Place(const Plan& plan, const Places& places, cudaStream_t stream);

  // The next segment. Of a tensor in one segment the bytes have to stay until the results are
  // there.
  absl::Status Fold(const void* d_data, const Segment& segment);
  // After the last segment.
  absl::Status Finish();
  // Of work that the stream has done: whether results are undecided.
  bool has_undecided() const { return undecided_.capacity > 0 && undecided_.counts->all > 0; }
  // Enqueues what is missing for these. False: there are none, or the tensor is not here.
  absl::StatusOr<bool> RecomputeUndecided();

  // What it has left of a plan that leaves states, in the host's copies of the arrays. REQUIRES:
  // its sums are exact.
  cpu::DeviceStates StatesIn(const std::vector<void*>& arrays) const;

 private:
  enum class Gives : std::uint8_t { kAll, kAllButSums, kProducts };
  struct Pass {
    CudaBackend backend;
    Gives gives;
    ScratchLayout layout;
    std::size_t scratch_at;
    std::optional<Folding<CudaBackend>> folding;
  };

  // A sum of all elements by one kernel.
  struct WholeSum {
    DType dtype;
    std::int64_t count;
    cuda::DeviceShape device;
    std::byte* d_scratch = nullptr;
    void* d_result = nullptr;
    cudaStream_t stream = nullptr;
  };

  void AddPass(const Plan& plan, const SegmentCutter& cutter, const cuda::Job& job, Gives gives);

  SegmentKind kind_;
  bool leaves_states_;
  bool sums_segments_;                 // exactly, as they come
  std::optional<WholeSum> whole_sum_;  // and nothing else
  std::vector<Pass> passes_;
  std::optional<CudaSums> sums_;
  std::size_t sums_at_ = 0;
  std::size_t undecided_at_ = 0;
  ScratchOffsets offsets_;
  UndecidedList undecided_;
  const void* d_tensor_ = nullptr;  // in one segment
  std::int64_t outputs_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_FOLDS_H_
