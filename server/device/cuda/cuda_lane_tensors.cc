// What a CudaLane does with resident tensors: fold them where they lie, and fill them through its
// pinned slabs.
#include <algorithm>

#include "kernels/cuda/float_sums.h"
#include "server/device/cuda/cuda_lane.h"

namespace warpfold {
namespace {

constexpr std::size_t kPieceUnit = std::size_t{64} << 10;  // PieceCutter asks for it

std::size_t WholePieces(std::size_t bytes) {
  return (bytes + kPieceUnit - 1) / kPieceUnit * kPieceUnit;
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

absl::StatusOr<Outcome> CudaLane::Reduce(const Plan& plan, const std::byte* d_data) {
  // All in one piece, as large launches are fastest; in smaller ones when its partial states take
  // more scratch memory than there is.
  std::size_t piece_bytes =
      std::max(WholePieces(static_cast<std::size_t>(plan.input_bytes)), options_.slab_bytes);
  absl::Status status = BeginPieces(plan, piece_bytes);
  // Bounds of sums hold for so many additions, of one piece (exact/quick_sums.h).
  while (absl::IsResourceExhausted(status) && piece_bytes > options_.slab_bytes &&
         !plan.leaves_partials) {
    piece_bytes = std::max(WholePieces(piece_bytes / 2), options_.slab_bytes);
    status = BeginPieces(plan, piece_bytes);
  }
  if (!status.ok()) return status;
  return plan.element_count == 0 ? Finish() : CollectResults(d_data);
}

bool CudaLane::JoinsPartials(const Plan& plan) const {
  return IsFloat(plan.dtype) && std::any_of(plan.ops.begin(), plan.ops.end(), cuda::IsOfFloatSums);
}

absl::StatusOr<std::optional<Outcome>> CudaLane::JoinPartials(
    const Plan& plan, absl::Span<const std::vector<std::string>> partials) {
  const Plan join = PlanOfJoin(plan, partials.size());
  if (absl::Status begun = BeginPieces(join, WholePieces(join.input_bytes)); !begun.ok()) {
    return begun;
  }
  absl::Status status = CopyPartials(partials);
  absl::StatusOr<Outcome> outcome = status.ok() ? FoldAndFetch(nullptr) : std::move(status);
  if (!outcome.ok()) {
    Abandon();
    return outcome.status();
  }
  const bool is_in_doubt = reduction_->folds.has_doubts();
  Drop();
  if (is_in_doubt) return std::nullopt;
  return std::make_optional(*std::move(outcome));
}

absl::Status CudaLane::CopyPartials(absl::Span<const std::vector<std::string>> partials) {
  std::vector<void*> to = reduction_->folds.JoinedStates();
  for (const std::vector<std::string>& shard : partials) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to[i], shard[i].data(), shard[i].size(),
                                                    cudaMemcpyHostToDevice, stream_.get()));
      to[i] = static_cast<std::byte*>(to[i]) + shard[i].size();
    }
  }
  return absl::OkStatus();
}

absl::Status CudaLane::FoldPieces(const std::byte* d_data) {
  Reduction& r = *reduction_;
  while (true) {
    absl::Status status = r.folds.Fold(d_data, r.piece);
    if (!status.ok() || r.cutter.done()) return status;
    d_data += r.piece.bytes;
    r.piece = r.cutter.Next();
  }
}

absl::Status CudaLane::BeginWrite(std::byte* d_to, std::size_t size_bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal_);
  write_ = {.d_to = d_to, .missing_bytes = size_bytes};
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<std::byte>> CudaLane::WriteBuffer() {
  Slab& slab = slabs_[write_->slab];
  if (absl::Status status = AwaitSlab(slab); !status.ok()) return status;
  const std::size_t bytes = std::min(options_.slab_bytes, write_->missing_bytes);
  return absl::MakeSpan(slab.pinned + write_->filled, bytes - write_->filled);
}

absl::Status CudaLane::CommitWrite(std::size_t byte_count) {
  Write& w = *write_;
  w.filled += byte_count;
  if (w.filled < std::min(options_.slab_bytes, w.missing_bytes)) return absl::OkStatus();
  Slab& slab = slabs_[w.slab];
  slab.in_flight = true;
  slab.bytes = w.filled;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.copy_begins.get(), copies_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(w.d_to, slab.pinned, w.filled, cudaMemcpyHostToDevice, copies_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.copy_ends.get(), copies_.get()));
  w.d_to += w.filled;
  w.missing_bytes -= w.filled;
  w.filled = 0;
  w.slab = (w.slab + 1) % slabs_.size();
  return absl::OkStatus();
}

absl::Status CudaLane::FinishWrite() {
  absl::Status status;
  for (Slab& slab : slabs_) {
    if (status.ok()) status = Release(slab);
  }
  Abandon();
  return status;
}

}  // namespace warpfold
