// A Worker on the CPU: one staging buffer, folded where it lies; resident tensors without it. See
// server/device/executor.h for the contract.
#ifndef WARPFOLD_SERVER_DEVICE_CPU_CPU_WORKER_H_
#define WARPFOLD_SERVER_DEVICE_CPU_CPU_WORKER_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "server/device/cpu/cpu_folds.h"
#include "server/device/executor.h"
#include "server/device/reduce/results.h"
#include "server/device/reduce/segments.h"

namespace warpfold {

class CpuWorker final : public Worker {
 public:
  // `use` must outlive the worker.
  CpuWorker(const WorkerOptions& options, DeviceUse& use);

  absl::Status Begin(const Plan& plan) override;
  absl::StatusOr<absl::Span<std::byte>> Buffer() override;
  absl::Status Commit(std::size_t byte_count) override;
  absl::StatusOr<Outcome> Finish() override;
  void Abandon() override;
  absl::StatusOr<std::unique_ptr<Suspended>> Suspend() override;
  absl::Status Resume(std::unique_ptr<Suspended> suspended) override;
  absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* data) override;
  absl::Status BeginWrite(std::byte* to, std::size_t size_bytes) override;
  absl::Status FinishWrite() override;

 private:
  // What the reduction of a tensor that has elements holds.
  struct Reduction {
    Reduction(const Plan& plan, std::size_t segment_bytes, std::size_t gathered_bytes);

    SegmentCutter cutter;
    CpuFolds folds;
    ResultLayout result_layout;
    Overflow overflow;
    std::size_t gathered_bytes;  // of a segment that is larger than the staging buffer
    HostBytes memory;            // scratch, then results, then the segment that is gathered
    Segment segment;             // being filled
    std::size_t filled = 0;      // bytes of it
    std::chrono::nanoseconds kernel_time{0};

    // Where in the memory the segment that is gathered lies.
    std::size_t gathered_at() const { return folds.scratch_bytes() + result_layout.total_bytes(); }
    std::size_t memory_bytes() const { return gathered_at() + gathered_bytes; }
  };

  // All of what a worker has begun: nothing of it is in the staging buffer between two segments.
  struct Task final : Suspended {
    const Plan* plan = nullptr;  // of a reduction
    HostCharge result_charge;    // for the outcome's
    std::unique_ptr<Reduction> reduction;
    absl::Span<std::byte> to_write;  // what a write still has to fill; null when there is none
  };

  // Of a tensor that is there, or that comes through the staging_buffer.
  absl::Status BeginSegments(const Plan& plan, bool is_there);
  // Where the segment that is being filled lies.
  std::byte* Filling() const;
  // Out of the reduction's memory.
  absl::StatusOr<std::vector<std::string>> TakeResults(const std::byte* results) const;
  // The reduction's current segment, at `data`, and on to the next.
  absl::Status FoldSegment(const std::byte* data);

  WorkerOptions options_;
  DeviceUse& use_;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> staging_buffer_;
  Task task_;  // empty while the worker is idle
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CPU_CPU_WORKER_H_
