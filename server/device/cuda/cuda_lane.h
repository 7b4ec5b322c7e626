// A Lane on a GPU: two exclusive streams, a ring of pinned slabs with their twins on the device,
// and scratch. See server/device/executor.h for the contract.
//
// While one slab is being filled, the ones before it are on their way to the device, in the order
// of copies_, or being folded there, in the order of stream_, which waits for each slab's copy: on
// one stream the bus would lie idle during every fold. A slab's events say when the host may write
// it again and how long its stages took.
//
// The end is awaited by cudaStreamSynchronize, which looks for it as long as the device works, and
// never when it does not. Blocking events and host functions sleep: beside a kernel of 1 ms they
// take 72 and 91 us of a processor instead of 1,021, and hear of its end 167 and 225 us later, in
// one case of a hundred 630 and 755; beside none 14 and 18 us later. A flag in mapped memory, which
// the kernel writes behind its results, saves the copy of these, 3 to 8 us: small results are
// written so, and batches await such flags (bench/results/completion-h200.json).
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_LANE_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_LANE_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/cuda/launch_plan.h"
#include "server/device/cuda/cuda_folds.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/executor.h"
#include "server/device/reduce/pieces.h"
#include "server/device/reduce/results.h"

namespace warpfold {

class CudaLane final : public Lane {
 public:
  // `use` and `suspended_bytes`, which the lanes of a device share, must outlive the lane and what
  // it suspends.
  static absl::StatusOr<std::unique_ptr<Lane>> Make(int ordinal, const cuda::DeviceShape& shape,
                                                    const LaneOptions& options, DeviceUse& use,
                                                    std::atomic<std::size_t>& suspended_bytes);
  ~CudaLane() override;

  absl::Status Begin(const Plan& plan) override;
  absl::StatusOr<absl::Span<std::byte>> Buffer() override;
  absl::Status Commit(std::size_t byte_count) override;
  absl::Status CommitInPlace(const std::byte* data) override;
  absl::StatusOr<Outcome> Finish() override;
  void Abandon() override;
  absl::StatusOr<std::unique_ptr<Suspended>> Suspend() override;
  absl::Status Resume(std::unique_ptr<Suspended> suspended) override;
  absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* d_data) override;
  bool JoinsPartials(const Plan& plan) const override;
  absl::StatusOr<std::optional<Outcome>> JoinPartials(
      const Plan& plan, absl::Span<const std::vector<std::string>> partials) override;
  absl::Status BeginWrite(std::byte* d_to, std::size_t size_bytes) override;
  absl::Status FinishWrite() override;

 private:
  struct Slab {
    std::byte* pinned = nullptr;
    std::byte* d_data = nullptr;
    cuda::UniqueEvent copy_begins, copy_ends, fold_begins, fold_ends;
    bool in_flight = false;
    std::size_t bytes = 0;  // that are in flight
  };

  // What the reduction of a tensor that has elements holds.
  struct Reduction {
    Reduction(const Plan& plan, std::size_t piece_bytes, const cuda::DeviceShape& device);

    PieceCutter cutter;
    CudaFolds folds;
    ResultLayout result_layout;
    bool in_pinned = false;  // where the kernels write the results, else in the device's memory
    std::byte* results = nullptr;
    std::size_t d_bytes = 0;   // of results, unless they are in pinned memory, and scratch
    void* d_pooled = nullptr;  // these, when the lane's own memory is too small
    Piece piece;               // being filled
    std::size_t filled = 0;    // bytes of it
    std::size_t slab = 0;      // that holds it
    DeviceTimes times;
  };

  // The overflow report comes first in the lane's own memory.
  static constexpr std::size_t kOverflowBytes = 256;
  // And in pinned memory, behind the report, how many outputs are in doubt.
  static constexpr std::size_t kDoubtsBytes = 256;

  // A write of a resident tensor that is under way.
  struct Write {
    std::byte* d_to = nullptr;      // where the slab that is being filled goes
    std::size_t missing_bytes = 0;  // from there on
    std::size_t slab = 0;
    std::size_t filled = 0;  // bytes of it
  };

  struct Task;

  CudaLane(int ordinal, const cuda::DeviceShape& shape, const LaneOptions& options, DeviceUse& use,
           std::atomic<std::size_t>& suspended_bytes)
      : ordinal_(ordinal),
        shape_(shape),
        options_(options),
        use_(use),
        suspended_bytes_(suspended_bytes) {}
  absl::Status Allocate();
  absl::Status BeginPieces(const Plan& plan, std::size_t piece_bytes);
  absl::Status TakeMemory(const Plan& plan, Reduction& reduction);
  // Makes the lane's streams and memory, and what the reduction has of its own, its places.
  void Place(const Plan& plan, Reduction& reduction);
  // Waits until the slabs and the streams are idle.
  absl::Status AwaitSlabs();
  absl::Status Save(Task& task);
  absl::Status Restore(Task& task);
  const cuda::UniqueEvent& LastEvent(const Slab& slab) const;
  absl::Status AwaitSlab(Slab& slab);
  absl::Status Release(Slab& slab);
  // The current piece, which lies at `pinned`, on its way: to the device, folded there.
  absl::Status SendPiece(const std::byte* pinned);
  absl::Status FoldPieces(const std::byte* d_data);
  // To where the reduction joins them.
  absl::Status CopyPartials(absl::Span<const std::vector<std::string>> partials);
  // Ends the reduction, whatever happens; folds all pieces of the tensor at `d_tensor` before, if
  // there is one.
  absl::StatusOr<Outcome> CollectResults(const std::byte* d_tensor);
  absl::StatusOr<Outcome> FoldAndFetch(const std::byte* d_tensor);
  // Of all outputs, those in doubt too.
  absl::StatusOr<std::vector<std::string>> SettleAndFetch();
  absl::StatusOr<std::vector<std::string>> FetchResults();
  // Out of results in the host's memory.
  absl::StatusOr<std::vector<std::string>> TakeResults(std::byte* results) const;
  // Waits for the copies that are last in the stream, and notes how long they took.
  absl::Status AwaitCopies();
  // OUT_OF_RANGE when the report that was fetched says so.
  absl::Status CheckOverflow() const;
  absl::Status ResetOverflow();
  // Gives back what the reduction or the write holds. REQUIRES: nothing of it is on its way.
  void Drop();
  absl::StatusOr<absl::Span<std::byte>> WriteBuffer();
  absl::Status CommitWrite(std::size_t byte_count);

  int ordinal_;
  cuda::DeviceShape shape_;
  LaneOptions options_;
  DeviceUse& use_;
  std::atomic<std::size_t>& suspended_bytes_;
  cuda::UniqueStream copies_;  // of slabs to the device
  cuda::UniqueStream stream_;  // everything else
  // Slabs, then small results, then the overflow report, then the number of doubts.
  cuda::UniquePinnedMemory pinned_;
  cuda::UniqueDeviceMemory d_memory_;  // slabs, then the overflow report, then results and scratch
  std::byte* pinned_results_ = nullptr;
  std::byte* pinned_overflow_ = nullptr;
  std::byte* d_overflow_ = nullptr;
  std::vector<Slab> slabs_;
  cuda::UniqueEvent finish_begins_, finish_ends_, results_copied_;
  const Plan* plan_ = nullptr;  // between Begin and Finish or Abandon
  HostCharge result_charge_;    // for the outcome's
  std::optional<Reduction> reduction_;
  std::optional<Write> write_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_LANE_H_
