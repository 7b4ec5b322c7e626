#include "server/device/cuda/cuda_sums.h"

#include <algorithm>

#include "kernels/cuda/float_sums.h"
#include "kernels/ops/catalogue.h"
#include "server/device/cuda/memory/cuda_resources.h"

namespace warpfold {
namespace {

// What sums take that are not kept.
constexpr std::size_t kSlotBytesMax = std::size_t{4} << 20;

}  // namespace

CudaSums::CudaSums(const Plan& plan, const SegmentCutter& cutter, const cuda::DeviceShape& device)
    : geometry_(plan.geometry),
      job_(cuda::SumsJobOf(plan, device)),
      sums_bytes_(cuda::OutputSumsBytes(job_)),
      outputs_(plan.output_count),
      ends_rows_(!plan.leaves_states && cutter.kind() == SegmentKind::kPlanes &&
                 geometry_.folds.empty()) {
  slots_ = static_cast<std::size_t>(outputs_);
  const bool keeps_none = cutter.is_whole() && !plan.leaves_states;
  if (keeps_none || ends_rows_) slots_ = std::min(slots_, kSlotBytesMax / sums_bytes_);
}

void CudaSums::Place(std::byte* d_sums, const ResultTargets& targets, cudaStream_t stream) {
  d_sums_ = d_sums;
  targets_ = targets;
  stream_ = stream;
}

absl::Status CudaSums::Add(const void* d_data, const Segment& segment) {
  const std::int64_t first_row = segment.plane * geometry_.inner + segment.column;
  const cuda::RowsAt rows{d_data, {segment.planes, segment.rows, segment.columns}, first_row};
  if (ends_rows_) {
    ResultTargets targets = targets_;
    for (int op = 0; op < targets.count; ++op) {
      const std::size_t bytes = ElementBytes(ResultDType(targets.ops[op], job_.dtype));
      targets.arrays[op] =
          static_cast<std::byte*>(targets.arrays[op]) + static_cast<std::size_t>(first_row) * bytes;
    }
    return Sum(job_, rows, {}, {.count = rows.extent.outputs()}, targets);
  }
  if (segment.first == 0) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(d_sums_, 0, sums_bytes(), stream_));
  }
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cuda::AddRows(job_, rows, geometry_.output_rows(), 0, d_sums_, stream_));
  return absl::OkStatus();
}

absl::Status CudaSums::Finish() {
  if (ends_rows_) return absl::OkStatus();
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cuda::FinishSums(job_, d_sums_, {.count = outputs_}, targets_, stream_));
  return absl::OkStatus();
}

absl::Status CudaSums::SumAgain(const void* d_tensor, const cuda::Outputs& outputs,
                                bool beyond_sums) {
  const cuda::RowsAt tensor{d_tensor, {geometry_.outer, geometry_.reduce, geometry_.inner}};
  cuda::SumsJob job = job_;
  if (!beyond_sums) job.sums = exact::Sums::kSum;
  return Sum(job, tensor, geometry_.output_rows(), outputs, targets_);
}

absl::Status CudaSums::Sum(const cuda::SumsJob& job, const cuda::RowsAt& rows,
                           const OutputRows& output_rows, const cuda::Outputs& outputs,
                           const ResultTargets& targets) {
  // More memory only saves time: many outputs in few turns.
  const std::size_t bytes = std::min(
      static_cast<std::size_t>(outputs.count) * cuda::OutputSumsBytes(job), cuda::kManySumsBytes);
  void* d_more = nullptr;
  if (bytes > sums_bytes() && cudaMallocAsync(&d_more, bytes, stream_) != cudaSuccess) {
    d_more = nullptr;
    (void)cudaGetLastError();
  }
  const cudaError_t error =
      d_more != nullptr
          ? cuda::SumOutputs(job, rows, output_rows, outputs, targets, d_more, bytes, stream_)
          : cuda::SumOutputs(job, rows, output_rows, outputs, targets, d_sums_, sums_bytes(),
                             stream_);
  if (d_more != nullptr) (void)cudaFreeAsync(d_more, stream_);
  WARPFOLD_RETURN_IF_CUDA_ERROR(error);
  return absl::OkStatus();
}

}  // namespace warpfold
