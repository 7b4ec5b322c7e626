// The results of a CudaReduction: awaited, settled where they are undecided, and taken to the host.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/targets.h"
#include "server/device/cuda/cuda_reduction.h"
#include "server/device/reduce/part_values.h"

namespace warpfold {

absl::Status CudaReduction::AwaitCopies() {
  CudaWorkspace& w = *workspace_;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaEventRecord(w.results_copied.get(), w.stream.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(w.stream.get()));
  absl::StatusOr<std::chrono::nanoseconds> copies = Elapsed(w.finish_ends, w.results_copied);
  if (!copies.ok()) return copies.status();
  times_.device_to_host = *copies;
  return absl::OkStatus();
}

absl::Status CudaReduction::CheckOverflow() const {
  Overflow overflow;
  std::memcpy(&overflow, workspace_->pinned_overflow(), sizeof(overflow));
  return OverflowStatus(overflow, plan_);
}

absl::StatusOr<std::vector<std::string>> CudaReduction::RecomputeAndFetch() {
  absl::StatusOr<std::vector<std::string>> results = FetchResults();
  if (!results.ok()) return results;
  const absl::StatusOr<bool> sums_again = parts_->folds.RecomputeUndecided();
  if (!sums_again.ok()) return sums_again.status();
  return *sums_again ? FetchResults() : std::move(results);
}

// Results that are not in pinned memory come through the staging buffers: nothing else uses them
// once the last segment is in the stream. One wait is for all that fits in them, and the overflow
// report.
absl::StatusOr<std::vector<std::string>> CudaReduction::FetchResults() {
  const Parts& r = *parts_;
  CudaWorkspace& w = *workspace_;
  const cudaStream_t stream = w.stream.get();
  const bool may_overflow = MayOverflow(plan_);
  if (r.in_pinned && !may_overflow) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
    return TakeResults(w.pinned_results());
  }
  if (may_overflow) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(
        w.pinned_overflow(), w.d_overflow(), sizeof(Overflow), cudaMemcpyDeviceToHost, stream));
  }
  const std::size_t ring_bytes = w.staging.total_bytes();
  const std::size_t result_bytes = r.in_pinned ? 0 : r.result_layout.total_bytes();
  HostBytes block;
  std::size_t done = 0;
  do {
    const std::size_t bytes = std::min(ring_bytes, result_bytes - done);
    if (bytes > 0) {
      WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(w.staging_memory(), r.results + done, bytes,
                                                    cudaMemcpyDeviceToHost, stream));
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
    std::memcpy(block.get() + done, w.staging_memory(), bytes);
    done += bytes;
  } while (done < result_bytes);
  return TakeResults(r.in_pinned              ? w.pinned_results()
                     : block.get() != nullptr ? block.get()
                                              : w.staging_memory());
}

absl::StatusOr<std::vector<std::string>> CudaReduction::TakeResults(std::byte* results) const {
  const Parts& r = *parts_;
  if (!plan_.leaves_states || plan_.leaves_partials) {
    return r.result_layout.Extract(reinterpret_cast<const char*>(results));
  }
  const cpu::DeviceStates states = r.folds.StatesIn(r.result_layout.ArraysAt(results));
  std::vector<std::byte> gathered;
  return PartValuesOf(plan_, [&](std::int64_t first, std::int64_t count) {
    gathered.resize(static_cast<std::size_t>(count) * cpu::EngineFor(CpuJobOf(plan_)).StateBytes());
    cpu::GatherExactly(CpuJobOf(plan_), states, first, count, gathered.data());
    return gathered.data();
  });
}

}  // namespace warpfold
