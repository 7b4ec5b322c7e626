#include "server/device/cuda/cuda_lane.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "kernels/targets.h"
#include "server/device/reduce/part_values.h"

namespace warpfold {
namespace {

// Results and scratch of a lane: enough for a SUM of 64 GiB of floats, of which every 64 KiB leave
// a partial of 8 bytes. What needs more takes three calls of the driver and a launch beside.
constexpr std::size_t kOwnBytes = std::size_t{8} << 20;
// Results of up to so many bytes the kernels write to pinned memory themselves. A copy of them
// takes the device 7 us after the last kernel (H200, 2026-11-21).
constexpr std::size_t kPinnedResultBytes = std::size_t{4} << 10;

absl::StatusOr<std::chrono::nanoseconds> Elapsed(const cuda::UniqueEvent& from,
                                                 const cuda::UniqueEvent& to) {
  float milliseconds = 0;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, from.get(), to.get()));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6f));
}

// Before the scratch.
std::size_t DeviceResultBytes(const ResultLayout& layout, bool in_pinned) {
  return in_pinned ? 0 : (layout.total_bytes() + 255) / 256 * 256;
}

}  // namespace

CudaLane::Reduction::Reduction(const Plan& plan, std::size_t piece_bytes,
                               const cuda::DeviceShape& device)
    : cutter(plan, piece_bytes),
      folds(plan, cutter, device),
      result_layout(plan, folds.state_bytes()) {}

absl::StatusOr<std::unique_ptr<Lane>> CudaLane::Make(int ordinal, const cuda::DeviceShape& shape,
                                                     const LaneOptions& options, DeviceUse& use,
                                                     std::atomic<std::size_t>& suspended_bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal);
  std::unique_ptr<CudaLane> lane(new CudaLane(ordinal, shape, options, use, suspended_bytes));
  if (absl::Status status = lane->Allocate(); !status.ok()) return status;
  return lane;
}

CudaLane::~CudaLane() { Abandon(); }

absl::Status CudaLane::Allocate() {
  const std::size_t slab_count = static_cast<std::size_t>(options_.slabs_per_lane);
  const std::size_t ring_bytes = slab_count * options_.slab_bytes;
  for (cuda::UniqueStream* stream : {&copies_, &stream_}) {
    absl::StatusOr<cuda::UniqueStream> made = cuda::MakeStream();
    if (!made.ok()) return made.status();
    *stream = *std::move(made);
  }
  absl::StatusOr<cuda::UniquePinnedMemory> pinned =
      cuda::AllocatePinned(ring_bytes + kPinnedResultBytes + kOverflowBytes + kDoubtsBytes);
  if (!pinned.ok()) return pinned.status();
  pinned_ = *std::move(pinned);
  pinned_results_ = pinned_.get() + ring_bytes;
  pinned_overflow_ = pinned_results_ + kPinnedResultBytes;
  // Here, as below, the gaps between results travel with them.
  std::memset(pinned_results_, 0, kPinnedResultBytes);
  absl::StatusOr<cuda::UniqueDeviceMemory> memory =
      cuda::AllocateDevice(ring_bytes + kOverflowBytes + kOwnBytes + CudaFolds::kZerosBytes);
  if (!memory.ok()) return memory.status();
  d_memory_ = *std::move(memory);
  d_overflow_ = d_memory_.get() + ring_bytes;

  slabs_.resize(slab_count);
  std::vector<cuda::UniqueEvent*> events = {&finish_begins_, &finish_ends_, &results_copied_};
  for (std::size_t i = 0; i < slab_count; ++i) {
    slabs_[i].pinned = pinned_.get() + i * options_.slab_bytes;
    slabs_[i].d_data = d_memory_.get() + i * options_.slab_bytes;
    events.insert(events.end(), {&slabs_[i].copy_begins, &slabs_[i].copy_ends,
                                 &slabs_[i].fold_begins, &slabs_[i].fold_ends});
  }
  for (cuda::UniqueEvent* event : events) {
    absl::StatusOr<cuda::UniqueEvent> made = cuda::MakeTimingEvent();
    if (!made.ok()) return made.status();
    *event = *std::move(made);
  }
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(
      d_overflow_, 0, kOverflowBytes + kOwnBytes + CudaFolds::kZerosBytes, stream_.get()));
  return ResetOverflow();
}

absl::Status CudaLane::ResetOverflow() {
  const Overflow none;
  std::memcpy(pinned_overflow_, &none, sizeof(none));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(d_overflow_, pinned_overflow_, sizeof(none),
                                                cudaMemcpyHostToDevice, stream_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
  return absl::OkStatus();
}

absl::Status CudaLane::Begin(const Plan& plan) { return BeginPieces(plan, options_.slab_bytes); }

absl::Status CudaLane::BeginPieces(const Plan& plan, std::size_t piece_bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal_);
  plan_ = &plan;
  if (plan.element_count > 0) reduction_.emplace(plan, piece_bytes, shape_);
  // Before a byte of the payload is read: what has no room is refused early.
  absl::StatusOr<HostCharge> charge = HostCharge::Take(
      plan.leaves_partials ? reduction_->result_layout.total_bytes() : OutcomeBytesMax(plan));
  if (!charge.ok()) {
    Abandon();
    return charge.status();
  }
  result_charge_ = *std::move(charge);
  if (!reduction_) return absl::OkStatus();
  Reduction& r = *reduction_;
  if (absl::Status status = TakeMemory(plan, r); !status.ok()) {
    Abandon();
    return status;
  }
  r.piece = r.cutter.Next();
  // Positions in partials are those in the whole tensor.
  if (plan.leaves_partials) r.piece.first = plan.first_element;
  return absl::OkStatus();
}

absl::Status CudaLane::TakeMemory(const Plan& plan, Reduction& r) {
  r.in_pinned = r.folds.writes_once() && r.result_layout.total_bytes() <= kPinnedResultBytes;
  r.d_bytes = DeviceResultBytes(r.result_layout, r.in_pinned) + r.folds.scratch_bytes();
  if (r.d_bytes > options_.scratch_bytes) {
    return FieldStatus(Field::kTensorShape, absl::ResourceExhaustedError(absl::StrCat(
                                                "partial states and results take ", r.d_bytes,
                                                " bytes, more than the server's scratch memory of ",
                                                options_.scratch_bytes)));
  }
  if (r.d_bytes > kOwnBytes) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMallocAsync(&r.d_pooled, r.d_bytes, stream_.get()));
    // Here, too, the gaps between results travel with them, and those inside states: unset bytes to
    // compute-sanitizer, and a hundredth of the time that the copy takes.
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(
        r.d_pooled, 0, DeviceResultBytes(r.result_layout, r.in_pinned), stream_.get()));
  }
  Place(plan, r);
  return absl::OkStatus();
}

void CudaLane::Place(const Plan& plan, Reduction& r) {
  std::byte* const d_block =
      r.d_pooled != nullptr ? static_cast<std::byte*>(r.d_pooled) : d_overflow_ + kOverflowBytes;
  r.results = r.in_pinned ? pinned_results_ : d_block;
  const Output results =
      r.result_layout.OutputAt(plan, r.results, reinterpret_cast<Overflow*>(d_overflow_));
  r.folds.Place(plan,
                {.d_scratch = d_block + DeviceResultBytes(r.result_layout, r.in_pinned),
                 .d_zeros = d_overflow_ + kOverflowBytes + kOwnBytes,
                 .results = results,
                 .states = r.result_layout.ArraysAt(r.results),
                 .doubts = reinterpret_cast<DoubtCounts*>(pinned_overflow_ + kOverflowBytes)},
                stream_.get());
}

absl::StatusOr<absl::Span<std::byte>> CudaLane::Buffer() {
  if (write_) return WriteBuffer();
  Reduction& r = *reduction_;
  Slab& slab = slabs_[r.slab];
  if (absl::Status status = AwaitSlab(slab); !status.ok()) return status;
  return absl::MakeSpan(slab.pinned + r.filled, r.piece.bytes - r.filled);
}

// What the device does last with a slab in flight.
const cuda::UniqueEvent& CudaLane::LastEvent(const Slab& slab) const {
  return write_ ? slab.copy_ends : slab.fold_ends;
}

// Releases `slab` for whoever wants to fill it, and counts the wait if it takes one.
absl::Status CudaLane::AwaitSlab(Slab& slab) {
  if (!slab.in_flight || cudaEventQuery(LastEvent(slab).get()) != cudaErrorNotReady) {
    return Release(slab);
  }
  (void)cudaGetLastError();  // no fault of the calls that follow, which would find it there
  const auto start = std::chrono::steady_clock::now();
  absl::Status status = Release(slab);
  use_.AddSlabWait(std::chrono::steady_clock::now() - start);
  return status;
}

// Waits until the device no longer touches `slab` and counts its times.
absl::Status CudaLane::Release(Slab& slab) {
  if (!slab.in_flight) return absl::OkStatus();
  slab.in_flight = false;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(LastEvent(slab).get()));
  absl::StatusOr<std::chrono::nanoseconds> copy = Elapsed(slab.copy_begins, slab.copy_ends);
  if (!copy.ok()) return copy.status();
  use_.AddCopy(slab.bytes, *copy);
  if (write_) return absl::OkStatus();
  absl::StatusOr<std::chrono::nanoseconds> fold = Elapsed(slab.fold_begins, slab.fold_ends);
  if (!fold.ok()) return fold.status();
  use_.AddKernels(slab.bytes, *fold);
  reduction_->times.host_to_device += *copy;
  reduction_->times.kernel += *fold;
  return absl::OkStatus();
}

absl::Status CudaLane::Commit(std::size_t byte_count) {
  if (write_) return CommitWrite(byte_count);
  Reduction& r = *reduction_;
  r.filled += byte_count;
  if (r.filled < r.piece.bytes) return absl::OkStatus();
  return SendPiece(slabs_[r.slab].pinned);
}

absl::Status CudaLane::CommitInPlace(const std::byte* data) { return SendPiece(data); }

absl::Status CudaLane::SendPiece(const std::byte* pinned) {
  Reduction& r = *reduction_;
  Slab& slab = slabs_[r.slab];
  slab.in_flight = true;
  slab.bytes = r.piece.bytes;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.copy_begins.get(), copies_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(slab.d_data, pinned, r.piece.bytes, cudaMemcpyHostToDevice, copies_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.copy_ends.get(), copies_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream_.get(), slab.copy_ends.get(), 0));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.fold_begins.get(), stream_.get()));
  if (absl::Status status = r.folds.Fold(slab.d_data, r.piece); !status.ok()) {
    return status;
  }
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(slab.fold_ends.get(), stream_.get()));
  r.filled = 0;
  r.slab = (r.slab + 1) % slabs_.size();
  if (!r.cutter.done()) r.piece = r.cutter.Next();
  return absl::OkStatus();
}

absl::StatusOr<Outcome> CudaLane::Finish() {
  if (plan_->element_count == 0) {
    absl::StatusOr<std::vector<std::string>> results = OutcomeOfNothing(*plan_);
    HostCharge charge = std::move(result_charge_);
    Drop();
    if (!results.ok()) return results.status();
    return Outcome{.results = *std::move(results), .times = {}, .charge = std::move(charge)};
  }
  return CollectResults(nullptr);
}

absl::StatusOr<Outcome> CudaLane::CollectResults(const std::byte* d_tensor) {
  absl::StatusOr<Outcome> outcome = FoldAndFetch(d_tensor);
  if (outcome.ok()) {
    Drop();
  } else {
    Abandon();
  }
  return outcome;
}

absl::StatusOr<Outcome> CudaLane::FoldAndFetch(const std::byte* d_tensor) {
  Reduction& r = *reduction_;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(finish_begins_.get(), stream_.get()));
  if (d_tensor != nullptr) {
    if (absl::Status status = FoldPieces(d_tensor); !status.ok()) return status;
  }
  if (absl::Status status = r.folds.Finish(); !status.ok()) return status;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(finish_ends_.get(), stream_.get()));
  absl::StatusOr<std::vector<std::string>> results = SettleAndFetch();
  if (!results.ok()) return results.status();

  for (Slab& slab : slabs_) {
    if (absl::Status status = Release(slab); !status.ok()) return status;
  }
  absl::StatusOr<std::chrono::nanoseconds> finish = Elapsed(finish_begins_, finish_ends_);
  if (!finish.ok()) return finish.status();
  // Release has counted the pieces of a tensor that came through the slabs.
  use_.AddKernels(d_tensor != nullptr ? static_cast<std::size_t>(plan_->input_bytes) : 0, *finish);
  r.times.kernel += *finish;
  return Outcome{*std::move(results), r.times, std::move(result_charge_)};
}

absl::Status CudaLane::AwaitCopies() {
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(results_copied_.get(), stream_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
  absl::StatusOr<std::chrono::nanoseconds> copies = Elapsed(finish_ends_, results_copied_);
  if (!copies.ok()) return copies.status();
  reduction_->times.device_to_host = *copies;
  return absl::OkStatus();
}

absl::Status CudaLane::CheckOverflow() const {
  Overflow overflow;
  std::memcpy(&overflow, pinned_overflow_, sizeof(overflow));
  return OverflowStatus(overflow, *plan_);
}

absl::StatusOr<std::vector<std::string>> CudaLane::SettleAndFetch() {
  absl::StatusOr<std::vector<std::string>> results = FetchResults();
  if (!results.ok()) return results;
  const absl::StatusOr<bool> sums_again = reduction_->folds.SettleDoubts();
  if (!sums_again.ok()) return sums_again.status();
  return *sums_again ? FetchResults() : std::move(results);
}

// Results that are not in pinned memory come through the slabs: nothing else uses them once the
// last piece is in the stream. One wait is for all that fits in them, and the overflow report.
absl::StatusOr<std::vector<std::string>> CudaLane::FetchResults() {
  Reduction& r = *reduction_;
  const bool may_overflow = MayOverflow(*plan_);
  if (r.in_pinned && !may_overflow) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
    return TakeResults(pinned_results_);
  }
  if (may_overflow) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(pinned_overflow_, d_overflow_, sizeof(Overflow),
                                                  cudaMemcpyDeviceToHost, stream_.get()));
  }
  const std::size_t ring_bytes = slabs_.size() * options_.slab_bytes;
  const std::size_t result_bytes = r.in_pinned ? 0 : r.result_layout.total_bytes();
  HostBytes block;
  std::size_t done = 0;
  do {
    const std::size_t bytes = std::min(ring_bytes, result_bytes - done);
    if (bytes > 0) {
      WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(pinned_.get(), r.results + done, bytes,
                                                    cudaMemcpyDeviceToHost, stream_.get()));
    }
    if (absl::Status status = AwaitCopies(); !status.ok()) return status;
    if (may_overflow && done == 0) {
      if (absl::Status status = CheckOverflow(); !status.ok()) return status;
    }
    if (result_bytes <= ring_bytes) break;
    if (block.get() == nullptr) {
      absl::StatusOr<HostBytes> taken = HostBytes::Take(result_bytes);
      if (!taken.ok()) return taken.status();
      block = *std::move(taken);
    }
    std::memcpy(block.get() + done, pinned_.get(), bytes);
    done += bytes;
  } while (done < result_bytes);
  return TakeResults(r.in_pinned              ? pinned_results_
                     : block.get() != nullptr ? block.get()
                                              : pinned_.get());
}

absl::StatusOr<std::vector<std::string>> CudaLane::TakeResults(std::byte* results) const {
  const Reduction& r = *reduction_;
  if (!plan_->leaves_states || plan_->leaves_partials) {
    return r.result_layout.Extract(reinterpret_cast<const char*>(results));
  }
  const cpu::DeviceStates states = r.folds.StatesIn(r.result_layout.ArraysAt(results));
  std::vector<std::byte> gathered;
  return PartValuesOf(*plan_, [&](std::int64_t first, std::int64_t count) {
    gathered.resize(static_cast<std::size_t>(count) * cpu::StateBytes(CpuJobOf(*plan_)));
    cpu::GatherExactly(CpuJobOf(*plan_), states, first, count, gathered.data());
    return gathered.data();
  });
}

void CudaLane::Abandon() {
  if (reduction_ || write_) {
    // Errors here were, or will be, reported by the calls that need the device.
    (void)cudaStreamSynchronize(copies_.get());
    (void)cudaStreamSynchronize(stream_.get());
    for (Slab& slab : slabs_) slab.in_flight = false;
    // What did not fit is reported as soon as its row is whole.
    if (reduction_ && MayOverflow(*plan_)) (void)ResetOverflow();
  }
  Drop();
}

void CudaLane::Drop() {
  if (reduction_ && reduction_->d_pooled != nullptr) {
    (void)cudaFreeAsync(reduction_->d_pooled, stream_.get());
  }
  plan_ = nullptr;
  reduction_.reset();
  result_charge_ = {};
  write_.reset();
}

}  // namespace warpfold
