#include "server/device/cuda/cuda_worker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/float_sums.h"

namespace warpfold {
namespace {

constexpr std::size_t kSegmentUnit = std::size_t{64} << 10;  // SegmentCutter asks for it

std::size_t WholeSegments(std::size_t bytes) {
  return (bytes + kSegmentUnit - 1) / kSegmentUnit * kSegmentUnit;
}

// As if each of `shards` devices had folded a plane of rows that are to be folded further.
Plan PlanOfJoin(const Plan& plan, std::size_t shards) {
  Plan join = plan;
  Geometry& g = join.geometry;
  g.outer = static_cast<std::int64_t>(shards);
  g.reduce = 1;
  g.inner = plan.output_count;
  g.folds = {{1, g.outer, g.inner}};
  join.element_count = g.element_count();
  join.input_bytes = join.element_count * static_cast<std::int64_t>(ElementBytes(plan.dtype));
  return join;
}

}  // namespace

// What has left its worker for a while.
struct CudaWorker::Aside final : Suspended {
  explicit Aside(std::atomic<std::size_t>& counted) : suspended_bytes(counted) {}
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() override { suspended_bytes -= bytes; }

  std::atomic<std::size_t>& suspended_bytes;
  std::size_t bytes = 0;  // of it, on the device
  std::unique_ptr<CudaReduction> reduction;
  std::optional<CudaWrite> write;
};

absl::StatusOr<std::unique_ptr<Worker>> CudaWorker::Make(
    int ordinal, const cuda::DeviceShape& shape, const WorkerOptions& options, DeviceUse& use,
    std::atomic<std::size_t>& suspended_bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal);
  absl::StatusOr<std::unique_ptr<CudaWorkspace>> workspace =
      CudaWorkspace::Make(ordinal, shape, options, use);
  if (!workspace.ok()) return workspace.status();
  return std::unique_ptr<Worker>(new CudaWorker(*std::move(workspace), suspended_bytes));
}

absl::Status CudaWorker::Begin(const Plan& plan) {
  return Begin(plan, workspace_->options.staging_buffer_bytes);
}

absl::Status CudaWorker::Begin(const Plan& plan, std::size_t segment_bytes) {
  absl::StatusOr<std::unique_ptr<CudaReduction>> begun =
      CudaReduction::Begin(*workspace_, plan, segment_bytes);
  if (!begun.ok()) return begun.status();
  reduction_ = *std::move(begun);
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<std::byte>> CudaWorker::Buffer() {
  return write_ ? write_->Buffer(*workspace_) : reduction_->Buffer();
}

absl::Status CudaWorker::Commit(std::size_t byte_count) {
  return write_ ? write_->Commit(*workspace_, byte_count) : reduction_->Commit(byte_count);
}

absl::Status CudaWorker::CommitInPlace(const std::byte* data) {
  return reduction_->CommitInPlace(data);
}

absl::StatusOr<Outcome> CudaWorker::Finish(const std::byte* d_tensor) {
  absl::StatusOr<Outcome> outcome = reduction_->Finish(d_tensor);
  if (outcome.ok()) reduction_->Close();
  reduction_.reset();
  return outcome;
}

void CudaWorker::Abandon() {
  reduction_.reset();
  if (write_) workspace_->Quiesce();
  write_.reset();
}

absl::StatusOr<std::unique_ptr<Suspended>> CudaWorker::Suspend() {
  auto aside = std::make_unique<Aside>(suspended_bytes_);
  absl::Status status;
  if (reduction_) {
    aside->bytes = reduction_->kept_bytes();
    // As much as four reductions may hold, so that idle clients leave room for others.
    const std::size_t bytes_max = 4 * workspace_->options.scratch_bytes;
    if (suspended_bytes_ += aside->bytes; suspended_bytes_ > bytes_max) {
      status = absl::ResourceExhaustedError(
          absl::StrCat("the streams that wait for their clients hold more than ", bytes_max,
                       " bytes of partial results on the device"));
    } else {
      status = reduction_->Leave();
    }
  } else {
    status = workspace_->staging.AwaitAll();
    workspace_->staging.Forget();
  }
  if (!status.ok()) {
    Abandon();
    return status;
  }
  aside->reduction = std::move(reduction_);
  aside->write = std::exchange(write_, std::nullopt);
  return aside;
}

absl::Status CudaWorker::Resume(std::unique_ptr<Suspended> suspended) {
  Aside& aside = dynamic_cast<Aside&>(*suspended);
  WARPFOLD_RETURN_IF_NOT_SET(workspace_->ordinal);
  reduction_ = std::move(aside.reduction);
  write_ = std::exchange(aside.write, std::nullopt);
  absl::Status status = reduction_ ? reduction_->Enter(*workspace_) : absl::OkStatus();
  if (!status.ok()) Abandon();
  return status;
}

absl::StatusOr<Outcome> CudaWorker::Reduce(const Plan& plan, const std::byte* d_data) {
  // All in one segment, as large launches are fastest; in smaller ones when its partial states take
  // more scratch memory than there is.
  const std::size_t staging_buffer_bytes = workspace_->options.staging_buffer_bytes;
  std::size_t segment_bytes =
      std::max(WholeSegments(static_cast<std::size_t>(plan.input_bytes)), staging_buffer_bytes);
  absl::Status status = Begin(plan, segment_bytes);
  // Bounds of sums hold for so many additions, of one segment (exact/quick_sums.h).
  while (absl::IsResourceExhausted(status) && segment_bytes > staging_buffer_bytes &&
         !plan.leaves_partials) {
    segment_bytes = std::max(WholeSegments(segment_bytes / 2), staging_buffer_bytes);
    status = Begin(plan, segment_bytes);
  }
  if (!status.ok()) return status;
  return Finish(d_data);
}

bool CudaWorker::JoinsPartials(const Plan& plan) const {
  return IsFloat(plan.dtype) && std::any_of(plan.ops.begin(), plan.ops.end(), cuda::IsOfFloatSums);
}

absl::StatusOr<std::optional<Outcome>> CudaWorker::JoinPartials(
    const Plan& plan, absl::Span<const std::vector<std::string>> partials) {
  const Plan join = PlanOfJoin(plan, partials.size());
  absl::StatusOr<std::unique_ptr<CudaReduction>> joined = CudaReduction::Begin(
      *workspace_, join, WholeSegments(static_cast<std::size_t>(join.input_bytes)));
  if (!joined.ok()) return joined.status();
  CudaReduction& reduction = **joined;
  if (absl::Status copied = reduction.CopyPartials(partials); !copied.ok()) return copied;
  absl::StatusOr<Outcome> outcome = reduction.Finish(nullptr);
  if (!outcome.ok()) return outcome.status();
  const bool is_undecided = reduction.has_undecided();
  reduction.Close();
  if (is_undecided) return std::nullopt;
  return std::make_optional(*std::move(outcome));
}

absl::Status CudaWorker::BeginWrite(std::byte* d_to, std::size_t size_bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(workspace_->ordinal);
  write_.emplace(d_to, size_bytes);
  return absl::OkStatus();
}

absl::Status CudaWorker::FinishWrite() {
  absl::Status status = workspace_->staging.AwaitAll();
  Abandon();
  return status;
}

}  // namespace warpfold
