// A reduction on a worker of a GPU, from its first byte to its results.
//
// Step of a request: 3. Its bytes come through the worker's staging buffers, or lie on the device.
// Belongs to one thread at a time; between two turns it may leave its worker (Leave) and go on, on
// another of the same GPU (Enter).
//
// The end is awaited by cudaStreamSynchronize, which looks for it as long as the device works, and
// never when it does not. Blocking events and host functions sleep: beside a kernel of 1 ms they
// take 72 and 91 us of a processor instead of 1,021, and hear of its end 167 and 225 us later, in
// one case of a hundred 630 and 755; beside none 14 and 18 us later. A flag in mapped memory, which
// the kernel writes behind its results, saves the copy of these, 3 to 8 us: small results are
// written so, and batches await such flags (bench/results/completion-h200.json).
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_REDUCTION_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_REDUCTION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/plan.h"
#include "server/device/cuda/cuda_folds.h"
#include "server/device/cuda/cuda_workspace.h"
#include "server/device/executor.h"
#include "server/device/host_bytes.h"
#include "server/device/reduce/results.h"
#include "server/device/reduce/segments.h"

namespace warpfold {

class CudaReduction {
 public:
  // Takes what `plan` needs beside the staging buffers, in segments of `segment_bytes` at most.
  // Both outlive it. RESOURCE_EXHAUSTED: more scratch memory than the device has set aside, or no
  // host memory.
  static absl::StatusOr<std::unique_ptr<CudaReduction>> Begin(CudaWorkspace& workspace,
                                                              const Plan& plan,
                                                              std::size_t segment_bytes);
  // Drops it, if it has not finished: waits until nothing of it is on its way.
  ~CudaReduction();
  CudaReduction(const CudaReduction&) = delete;
  CudaReduction& operator=(const CudaReduction&) = delete;

  // As Worker's.
  absl::StatusOr<absl::Span<std::byte>> Buffer();
  absl::Status Commit(std::size_t byte_count);
  absl::Status CommitInPlace(const std::byte* data);

  // Of a plan that joins partials: puts them where it does.
  absl::Status CopyPartials(absl::Span<const std::vector<std::string>> partials);

  // The results of what came through the staging buffers, or, unless it is null, of the tensor at
  // `d_tensor`, all of which is folded before. OUT_OF_RANGE, DeviceLostError. Once.
  absl::StatusOr<Outcome> Finish(const std::byte* d_tensor);
  // After Finish of a plan whose undecided outputs are not recomputed: whether there are any.
  bool has_undecided() const { return parts_.has_value() && parts_->folds.has_undecided(); }
  // After a Finish that was OK: gives back what it holds, without a wait.
  void Close();

  // Of its bytes on the device: what it takes along when it leaves.
  std::size_t kept_bytes() const;
  // Waits for the device, and copies what it has in the worker's memory aside. Then the worker is
  // idle.
  absl::Status Leave();
  // Goes on, on an idle worker of the same GPU.
  absl::Status Enter(CudaWorkspace& workspace);

 private:
  // Of a tensor that has elements.
  struct Parts {
    Parts(const Plan& plan, std::size_t segment_bytes, const cuda::DeviceShape& device);

    SegmentCutter cutter;
    CudaFolds folds;
    ResultLayout result_layout;
    bool in_pinned = false;  // where the kernels write the results, else in the device's memory
    std::byte* results = nullptr;
    std::size_t d_bytes = 0;   // of results, unless they are in pinned memory, and scratch
    void* d_pooled = nullptr;  // these, when the worker's own memory is too small
    Segment segment;           // being filled
    std::size_t filled = 0;    // bytes of it
  };
  // What was in the worker's memory, while it has none.
  struct Aside {
    std::size_t bytes = 0;  // at d_saved: the overflow report, then results and scratch
    void* d_saved = nullptr;
    std::vector<std::byte> pinned_results;
  };

  CudaReduction(CudaWorkspace& workspace, const Plan& plan)
      : workspace_(&workspace), ordinal_(workspace.ordinal), plan_(plan) {}
  absl::Status TakeMemory();
  // Makes the worker's streams and memory, and what is its own, its places.
  void Place();
  absl::Status Save();
  absl::Status SendSegment(const std::byte* pinned);
  absl::Status FoldSegments(const std::byte* d_data);
  absl::StatusOr<Outcome> FoldAndFetch(const std::byte* d_tensor);
  // Of the device's memory, in `stream`.
  void FreeMemory(cudaStream_t stream);

  // cuda_fetch.cc. Of all outputs, those undecided too.
  absl::StatusOr<std::vector<std::string>> RecomputeAndFetch();
  absl::StatusOr<std::vector<std::string>> FetchResults();
  // Out of results in the host's memory.
  absl::StatusOr<std::vector<std::string>> TakeResults(std::byte* results) const;
  // Waits for the copies that are last in the stream, and notes how long they took.
  absl::Status AwaitCopies();
  // OUT_OF_RANGE when the report that was fetched says so.
  absl::Status CheckOverflow() const;

  CudaWorkspace* workspace_;  // null: it has left
  const int ordinal_;
  const Plan& plan_;
  HostCharge result_charge_;  // for the outcome's
  DeviceTimes times_;
  std::optional<Parts> parts_;
  Aside aside_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_REDUCTION_H_
