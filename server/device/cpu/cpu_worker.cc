#include "server/device/cpu/cpu_worker.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "kernels/targets.h"
#include "server/device/reduce/part_values.h"

namespace warpfold {
namespace {

// StagingBuffers start on a cache line; the kernels ask for the element's alignment only.
constexpr std::size_t kStagingBufferAlignment = 64;

// A tensor that is all there is folded in larger segments than a staging buffer, which cores share
// better, but not at once: between its tasks the fold of a segment of columns holds up to half of
// its bytes.
constexpr std::size_t kResidentSegmentBytes = std::size_t{64} << 20;

// What a write gives out at a time, so that it notices in between when nobody wants it any more.
constexpr std::size_t kWriteBytes = std::size_t{4} << 20;

class StopWatch {
 public:
  std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - start_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

CpuWorker::Reduction::Reduction(const Plan& p, std::size_t segment_bytes, std::size_t gathered)
    : cutter(p, segment_bytes),
      folds(p, cutter),
      result_layout(p, {folds.state_bytes()}),
      gathered_bytes(gathered) {}

CpuWorker::CpuWorker(const WorkerOptions& options, DeviceUse& use)
    : options_(options),
      use_(use),
      staging_buffer_(static_cast<std::byte*>(std::aligned_alloc(kStagingBufferAlignment,
                                                                 options.staging_buffer_bytes)),
                      [](std::byte* p) { std::free(p); }) {}

absl::Status CpuWorker::Begin(const Plan& plan) { return BeginSegments(plan, /*is_there=*/false); }

absl::Status CpuWorker::BeginSegments(const Plan& plan, bool is_there) {
  task_.plan = &plan;
  // Before a byte of the payload is read: what has no room is refused early.
  const std::size_t outcome_bytes = OutcomeBytesMax(plan);
  absl::StatusOr<HostCharge> charge = HostCharge::Take(outcome_bytes);
  if (!charge.ok()) {
    Abandon();
    return charge.status();
  }
  task_.result_charge = *std::move(charge);
  if (plan.element_count == 0) return absl::OkStatus();
  std::size_t segment_bytes = 0;
  std::size_t gathered_bytes = 0;
  if (is_there) {
    segment_bytes =
        CpuFolds::SegmentBytes(plan, std::max(options_.staging_buffer_bytes, kResidentSegmentBytes),
                               std::numeric_limits<std::size_t>::max());
  } else {
    const std::size_t results_bytes =
        plan.leaves_states ? 0 : std::min(options_.scratch_bytes, outcome_bytes);
    segment_bytes = CpuFolds::SegmentBytes(plan, options_.staging_buffer_bytes,
                                           options_.scratch_bytes - results_bytes);
    if (segment_bytes > options_.staging_buffer_bytes) gathered_bytes = segment_bytes;
  }
  Reduction& r =
      *(task_.reduction = std::make_unique<Reduction>(plan, segment_bytes, gathered_bytes));
  if (r.memory_bytes() > options_.scratch_bytes) {
    const std::size_t needed = r.memory_bytes();
    Abandon();
    return FieldStatus(Field::kTensorShape, absl::ResourceExhaustedError(absl::StrCat(
                                                "partial states and results take ", needed,
                                                " bytes, more than the server's scratch memory of ",
                                                options_.scratch_bytes)));
  }
  absl::StatusOr<HostBytes> memory = HostBytes::Take(r.memory_bytes());
  if (!memory.ok()) {
    Abandon();
    return memory.status();
  }
  r.memory = *std::move(memory);
  const Output results =
      r.result_layout.OutputAt(plan, r.memory.get() + r.folds.scratch_bytes(), &r.overflow);
  r.folds.Place(r.memory.get(), results);
  r.segment = r.cutter.Next();
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<std::byte>> CpuWorker::Buffer() {
  if (!task_.to_write.empty())
    return task_.to_write.first(std::min(task_.to_write.size(), kWriteBytes));
  const Reduction& r = *task_.reduction;
  return absl::MakeSpan(Filling() + r.filled,
                        std::min(r.segment.bytes - r.filled, options_.staging_buffer_bytes));
}

std::byte* CpuWorker::Filling() const {
  const Reduction& r = *task_.reduction;
  return r.gathered_bytes > 0 ? r.memory.get() + r.gathered_at() : staging_buffer_.get();
}

absl::Status CpuWorker::Commit(std::size_t byte_count) {
  if (!task_.to_write.empty()) {
    task_.to_write.remove_prefix(byte_count);
    return absl::OkStatus();
  }
  Reduction& r = *task_.reduction;
  r.filled += byte_count;
  if (r.filled < r.segment.bytes) return absl::OkStatus();
  r.filled = 0;
  return FoldSegment(Filling());
}

absl::Status CpuWorker::FoldSegment(const std::byte* data) {
  Reduction& r = *task_.reduction;
  const StopWatch watch;
  const absl::Status status = r.folds.Fold(data, r.segment);
  const std::chrono::nanoseconds took = watch.elapsed();
  r.kernel_time += took;
  use_.AddKernels(r.segment.bytes, took);
  if (!r.cutter.done()) r.segment = r.cutter.Next();
  return status;
}

absl::StatusOr<Outcome> CpuWorker::Finish() {
  Outcome outcome;
  absl::Status status;
  absl::StatusOr<std::vector<std::string>> results;
  if (task_.plan->element_count == 0) {
    results = EmptyOutcome(*task_.plan);
  } else {
    Reduction& r = *task_.reduction;
    const StopWatch watch;
    status = r.folds.Finish();
    const std::chrono::nanoseconds took = watch.elapsed();
    outcome.times.kernel = r.kernel_time + took;
    use_.AddKernels(0, took);
    if (status.ok()) status = OverflowStatus(r.overflow, *task_.plan);
    if (status.ok()) results = TakeResults(r.memory.get() + r.folds.scratch_bytes());
  }
  outcome.charge = std::move(task_.result_charge);
  Abandon();
  if (!status.ok()) return status;
  if (!results.ok()) return results.status();
  outcome.results = *std::move(results);
  return outcome;
}

absl::StatusOr<std::vector<std::string>> CpuWorker::TakeResults(const std::byte* results) const {
  const Reduction& r = *task_.reduction;
  if (!task_.plan->leaves_states) {
    return r.result_layout.Extract(reinterpret_cast<const char*>(results));
  }
  return PartValuesOf(*task_.plan, [&](std::int64_t first, std::int64_t) {
    return results + static_cast<std::size_t>(first) * r.folds.state_bytes();
  });
}

void CpuWorker::Abandon() { task_ = {}; }

absl::StatusOr<std::unique_ptr<Suspended>> CpuWorker::Suspend() {
  return std::make_unique<Task>(std::exchange(task_, {}));
}

absl::Status CpuWorker::Resume(std::unique_ptr<Suspended> suspended) {
  task_ = std::move(dynamic_cast<Task&>(*suspended));
  return absl::OkStatus();
}

absl::StatusOr<Outcome> CpuWorker::Reduce(const Plan& plan, const std::byte* data) {
  absl::Status status = BeginSegments(plan, /*is_there=*/true);
  if (!status.ok()) return status;
  const std::byte* const end = data + plan.input_bytes;
  while (status.ok() && data != end) {
    const std::size_t bytes = task_.reduction->segment.bytes;
    status = FoldSegment(data);
    data += bytes;
  }
  if (status.ok()) return Finish();
  Abandon();
  return status;
}

absl::Status CpuWorker::BeginWrite(std::byte* to, std::size_t size_bytes) {
  task_.to_write = absl::MakeSpan(to, size_bytes);
  return absl::OkStatus();
}

// Every byte was written where it belongs.
absl::Status CpuWorker::FinishWrite() { return absl::OkStatus(); }

}  // namespace warpfold
