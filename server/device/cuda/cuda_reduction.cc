#include "server/device/cuda/cuda_reduction.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "kernels/targets.h"
#include "server/device/reduce/part_values.h"

namespace warpfold {
namespace {

// Before the scratch.
std::size_t DeviceResultBytes(const ResultLayout& layout, bool in_pinned) {
  return in_pinned ? 0 : (layout.total_bytes() + 255) / 256 * 256;
}

}  // namespace

CudaReduction::Parts::Parts(const Plan& plan, std::size_t segment_bytes,
                            const cuda::DeviceShape& device)
    : cutter(plan, segment_bytes),
      folds(plan, cutter, device),
      result_layout(plan, folds.state_bytes()) {}

absl::StatusOr<std::unique_ptr<CudaReduction>> CudaReduction::Begin(CudaWorkspace& workspace,
                                                                    const Plan& plan,
                                                                    std::size_t segment_bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(workspace.ordinal);
  std::unique_ptr<CudaReduction> begun(new CudaReduction(workspace, plan));
  std::optional<Parts>& parts = begun->parts_;
  if (plan.element_count > 0) parts.emplace(plan, segment_bytes, workspace.shape);
  // Before a byte of the payload is read: what has no room is refused early.
  absl::StatusOr<HostCharge> charge = HostCharge::Take(
      plan.leaves_partials ? parts->result_layout.total_bytes() : OutcomeBytesMax(plan));
  if (!charge.ok()) return charge.status();
  begun->result_charge_ = *std::move(charge);
  if (!parts.has_value()) return begun;
  if (absl::Status status = begun->TakeMemory(); !status.ok()) return status;
  parts->segment = parts->cutter.Next();
  // Positions in partials are those in the whole tensor.
  if (plan.leaves_partials) parts->segment.first = plan.first_element;
  return begun;
}

CudaReduction::~CudaReduction() {
  if (!parts_.has_value()) return;
  if (workspace_ == nullptr) {
    if (cuda::SetDevice(ordinal_).ok()) FreeMemory(cudaStreamPerThread);
    return;
  }
  workspace_->Quiesce();
  // What did not fit is reported as soon as its row is whole.
  if (MayOverflow(plan_)) (void)workspace_->ResetOverflow();
  FreeMemory(workspace_->stream.get());
}

void CudaReduction::FreeMemory(cudaStream_t stream) {
  if (aside_.d_saved != nullptr) (void)cudaFreeAsync(aside_.d_saved, stream);
  if (parts_->d_pooled != nullptr) (void)cudaFreeAsync(parts_->d_pooled, stream);
}

void CudaReduction::Close() {
  if (parts_.has_value()) FreeMemory(workspace_->stream.get());
  parts_.reset();
}

absl::Status CudaReduction::TakeMemory() {
  Parts& r = *parts_;
  const WorkerOptions& options = workspace_->options;
  r.in_pinned =
      r.folds.writes_once() && r.result_layout.total_bytes() <= CudaWorkspace::kPinnedResultBytes;
  const std::size_t result_bytes = DeviceResultBytes(r.result_layout, r.in_pinned);
  r.d_bytes = result_bytes + r.folds.scratch_bytes();
  if (r.d_bytes > options.scratch_bytes) {
    return FieldStatus(Field::kTensorShape, absl::ResourceExhaustedError(absl::StrCat(
                                                "partial states and results take ", r.d_bytes,
                                                " bytes, more than the server's scratch memory of ",
                                                options.scratch_bytes)));
  }
  if (r.d_bytes > CudaWorkspace::kOwnBytes) {
    const cudaStream_t stream = workspace_->stream.get();
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMallocAsync(&r.d_pooled, r.d_bytes, stream));
    // Here, too, the gaps between results travel with them, and those inside states: unset bytes to
    // compute-sanitizer, and a hundredth of the time that the copy takes.
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(r.d_pooled, 0, result_bytes, stream));
  }
  Place();
  return absl::OkStatus();
}

void CudaReduction::Place() {
  Parts& r = *parts_;
  const CudaWorkspace& w = *workspace_;
  std::byte* const d_block =
      r.d_pooled != nullptr ? static_cast<std::byte*>(r.d_pooled) : w.d_own();
  r.results = r.in_pinned ? w.pinned_results() : d_block;
  const Output results =
      r.result_layout.OutputAt(plan_, r.results, reinterpret_cast<Overflow*>(w.d_overflow()));
  r.folds.Place(plan_,
                {.d_scratch = d_block + DeviceResultBytes(r.result_layout, r.in_pinned),
                 .d_zeros = w.d_zeros(),
                 .results = results,
                 .states = r.result_layout.ArraysAt(r.results),
                 .undecided = w.undecided()},
                w.stream.get());
}

absl::StatusOr<absl::Span<std::byte>> CudaReduction::Buffer() {
  const Parts& r = *parts_;
  StagingRing& staging_buffers = workspace_->staging;
  if (absl::Status status = staging_buffers.Await(); !status.ok()) return status;
  return absl::MakeSpan(staging_buffers.current() + r.filled, r.segment.bytes - r.filled);
}

absl::Status CudaReduction::Commit(std::size_t byte_count) {
  Parts& r = *parts_;
  r.filled += byte_count;
  if (r.filled < r.segment.bytes) return absl::OkStatus();
  return SendSegment(workspace_->staging.current());
}

absl::Status CudaReduction::CommitInPlace(const std::byte* data) { return SendSegment(data); }

absl::Status CudaReduction::SendSegment(const std::byte* pinned) {
  Parts& r = *parts_;
  CudaWorkspace& w = *workspace_;
  absl::Status sent = w.staging.CopyAndFold(
      pinned, r.segment.bytes, w.copies.get(), w.stream.get(),
      [&r](const std::byte* d_data) { return r.folds.Fold(d_data, r.segment); });
  if (!sent.ok()) return sent;
  r.filled = 0;
  if (!r.cutter.done()) r.segment = r.cutter.Next();
  return absl::OkStatus();
}

absl::Status CudaReduction::FoldSegments(const std::byte* d_data) {
  Parts& r = *parts_;
  while (true) {
    absl::Status status = r.folds.Fold(d_data, r.segment);
    if (!status.ok() || r.cutter.done()) return status;
    d_data += r.segment.bytes;
    r.segment = r.cutter.Next();
  }
}

absl::Status CudaReduction::CopyPartials(absl::Span<const std::vector<std::string>> partials) {
  std::vector<void*> to = parts_->folds.JoinedStates();
  for (const std::vector<std::string>& shard : partials) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to[i], shard[i].data(), shard[i].size(),
                                                    cudaMemcpyHostToDevice,
                                                    workspace_->stream.get()));
      to[i] = static_cast<std::byte*>(to[i]) + shard[i].size();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Outcome> CudaReduction::Finish(const std::byte* d_tensor) {
  if (parts_.has_value()) return FoldAndFetch(d_tensor);
  absl::StatusOr<std::vector<std::string>> results = EmptyOutcome(plan_);
  if (!results.ok()) return results.status();
  return Outcome{.results = *std::move(results), .times = {}, .charge = std::move(result_charge_)};
}

absl::StatusOr<Outcome> CudaReduction::FoldAndFetch(const std::byte* d_tensor) {
  Parts& r = *parts_;
  CudaWorkspace& w = *workspace_;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(w.finish_begins.get(), w.stream.get()));
  if (d_tensor != nullptr) {
    if (absl::Status status = FoldSegments(d_tensor); !status.ok()) return status;
  }
  if (absl::Status status = r.folds.Finish(); !status.ok()) return status;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(w.finish_ends.get(), w.stream.get()));
  absl::StatusOr<std::vector<std::string>> results = RecomputeAndFetch();
  if (!results.ok()) return results.status();

  if (absl::Status status = w.staging.AwaitAll(); !status.ok()) return status;
  times_ += w.staging.TakeTimes();
  absl::StatusOr<std::chrono::nanoseconds> finish = Elapsed(w.finish_begins, w.finish_ends);
  if (!finish.ok()) return finish.status();
  // The staging buffers have counted the segments of a tensor that came through them.
  w.use.AddKernels(d_tensor != nullptr ? static_cast<std::size_t>(plan_.input_bytes) : 0, *finish);
  times_.kernel += *finish;
  return Outcome{*std::move(results), times_, std::move(result_charge_)};
}

std::size_t CudaReduction::kept_bytes() const {
  return parts_.has_value() ? CudaWorkspace::kOverflowBytes + parts_->d_bytes : 0;
}

absl::Status CudaReduction::Leave() {
  CudaWorkspace& w = *workspace_;
  if (absl::Status status = w.staging.AwaitAll(); !status.ok()) return status;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(w.stream.get()));
  times_ += w.staging.TakeTimes();
  if (absl::Status saved = parts_.has_value() ? Save() : absl::OkStatus(); !saved.ok()) {
    return saved;
  }
  workspace_ = nullptr;
  return absl::OkStatus();
}

absl::Status CudaReduction::Save() {
  const Parts& r = *parts_;
  CudaWorkspace& w = *workspace_;
  aside_.bytes = CudaWorkspace::kOverflowBytes + (r.d_pooled != nullptr ? 0 : r.d_bytes);
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMallocAsync(&aside_.d_saved, aside_.bytes, w.stream.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(aside_.d_saved, w.d_overflow(), aside_.bytes,
                                                cudaMemcpyDeviceToDevice, w.stream.get()));
  if (r.in_pinned) {
    std::byte* const results = w.pinned_results();
    aside_.pinned_results.assign(results, results + r.result_layout.total_bytes());
  }
  if (MayOverflow(plan_)) return w.ResetOverflow();  // which waits
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(w.stream.get()));
  return absl::OkStatus();
}

absl::Status CudaReduction::Enter(CudaWorkspace& workspace) {
  WARPFOLD_RETURN_IF_NOT_SET(workspace.ordinal);
  workspace_ = &workspace;
  if (!parts_.has_value()) return absl::OkStatus();
  Place();
  const cudaStream_t stream = workspace.stream.get();
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(workspace.d_overflow(), aside_.d_saved,
                                                aside_.bytes, cudaMemcpyDeviceToDevice, stream));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaFreeAsync(std::exchange(aside_.d_saved, nullptr), stream));
  std::memcpy(workspace.pinned_results(), aside_.pinned_results.data(),
              aside_.pinned_results.size());
  return absl::OkStatus();
}

}  // namespace warpfold
