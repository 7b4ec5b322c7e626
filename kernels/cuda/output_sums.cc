#include "kernels/cuda/output_sums.h"

#include <algorithm>

namespace warpfold::cuda {
namespace {

// What `visitor` returns for the job's element type; of others than floats nothing is called.
template <class Visitor>
auto VisitFloat(const SumsJob& job, const Visitor& visitor) {
  return VisitBuilt(job.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Result = decltype(visitor(OutputSumsOf<float>()));
    if constexpr (kIsFloat<T>) {
      return visitor(OutputSumsOf<T>());
    } else {
      return Result{};
    }
  });
}

}  // namespace

std::size_t OutputSumsBytes(const SumsJob& job) {
  return VisitFloat(job, [&](auto of) { return of.Bytes(job); });
}

cudaError_t AddRows(const SumsJob& job, const RowsAt& rows, const OutputRows& output_rows,
                    std::int64_t first_output, void* d_sums, cudaStream_t stream) {
  return VisitFloat(job, [&](auto of) {
    return of.AddRows(job, rows, output_rows, first_output, d_sums, stream);
  });
}

cudaError_t AddOutputs(const SumsJob& job, const RowsAt& tensor, const OutputRows& output_rows,
                       const Outputs& outputs, void* d_sums, cudaStream_t stream) {
  return VisitFloat(job, [&](auto of) {
    return of.AddOutputs(job, tensor, output_rows, outputs, d_sums, stream);
  });
}

cudaError_t FinishSums(const SumsJob& job, const void* d_sums, const Outputs& outputs,
                       const ResultTargets& targets, cudaStream_t stream) {
  return VisitFloat(job, [&](auto of) { return of.Finish(job, d_sums, outputs, targets, stream); });
}

RecomputeBytes RecomputeBytesOf(const SumsJob& job, std::int64_t outputs) {
  return VisitFloat(job, [&](auto of) { return of.BytesToRecompute(job, outputs); });
}

cudaError_t RecomputeUndecided(const SumsJob& job, const UndecidedOutputs& undecided,
                               const ResultTargets& targets, void* d_memory, cudaStream_t stream) {
  return VisitFloat(
      job, [&](auto of) { return of.Recompute(job, undecided, targets, d_memory, stream); });
}

cudaError_t SumOutputs(const SumsJob& job, const RowsAt& tensor, const OutputRows& output_rows,
                       const Outputs& outputs, const ResultTargets& targets, void* d_sums,
                       std::size_t bytes, cudaStream_t stream) {
  const std::size_t sums_bytes = OutputSumsBytes(job);
  const auto at_once = static_cast<std::int64_t>(bytes / sums_bytes);
  Outputs some = outputs;
  for (std::int64_t done = 0; done < outputs.count; done += some.count) {
    some.count = std::min(outputs.count - done, at_once);
    some.first = outputs.first + done;
    if (outputs.d_numbers != nullptr) some.d_numbers = outputs.d_numbers + done;
    cudaError_t error =
        cudaMemsetAsync(d_sums, 0, static_cast<std::size_t>(some.count) * sums_bytes, stream);
    if (error == cudaSuccess) error = AddOutputs(job, tensor, output_rows, some, d_sums, stream);
    if (error == cudaSuccess) error = FinishSums(job, d_sums, some, targets, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace warpfold::cuda
