#include "kernels/cuda/reduction.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cuda/exact_sum.h"
#include "kernels/cuda/float_sums.h"
#include "kernels/field_error.h"

namespace warpfold::cuda {
namespace {

bool IsOnMultipleOf(std::size_t bytes, const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

bool AreAligned(const Plan& plan, const void* d_tensor, std::span<void* const> results,
                const void* d_workspace) {
  bool are = IsOnMultipleOf(ElementBytes(plan.dtype), d_tensor) &&
             IsOnMultipleOf(ScratchOffsets::kAlignment, d_workspace);
  for (std::size_t i = 0; i < results.size(); ++i) {
    are = are && IsOnMultipleOf(ElementBytes(plan.result_dtype(i)), results[i]);
  }
  return are;
}

}  // namespace

absl::StatusOr<Reduction> Reduction::Make(const ReduceSpec& spec, const DeviceShape& device) {
  absl::StatusOr<Plan> plan = MakePlan(spec);
  if (!plan.ok()) return plan.status();
  if (absl::Status built = BuiltStatus(spec.dtype); !built.ok()) return built;
  if (plan->element_count == 0) {
    return InvalidField(Field::kTensorShape, "has no elements: there is nothing to enqueue");
  }
  return Reduction(*std::move(plan), device);
}

Reduction::Reduction(Plan plan, const DeviceShape& device)
    : plan_(std::move(plan)), device_(device) {
  if (IsSumOfAll(plan_)) {
    is_whole_sum_ = true;
    (void)offsets_.Take(kExactSumScratchBytesMax);
    zeroed_bytes_ = offsets_.total_bytes();
    return;
  }
  Job job{.dtype = plan_.dtype, .fused_op_set = plan_.fused_op_set(), .device = device_};
  if (!IsFloat(plan_.dtype)) {
    AddPass(job);
    return;
  }
  std::vector<Op> ops = plan_.ops;
  const bool has_product = std::erase_if(ops, IsProductOfFloats) > 0;
  recomputes_ = std::ranges::any_of(ops, IsOfFloatSums);
  if (recomputes_) {
    sums_ = SumsJobOf(plan_, device_);
    const RecomputeBytes bytes = RecomputeBytesOf(sums_, plan_.output_count);
    (void)offsets_.Take(sizeof(UndecidedCounts));
    sums_at_ = offsets_.Take(bytes.all);
    zeroed_bytes_ = sums_at_ + bytes.zeroed;
    numbers_max_ = ListedUndecidedMax(plan_.output_count);
    numbers_at_ = offsets_.Take(static_cast<std::size_t>(numbers_max_) * sizeof(std::int64_t));
  }
  if (!ops.empty()) {
    job.fused_op_set = FusedOpSetFor(plan_.dtype, ops, plan_.nan_policy);
    AddPass(job);
  }
  if (has_product) {
    job.fused_op_set = plan_.fused_op_set();
    job.is_product = true;
    AddPass(job);
  }
}

void Reduction::AddPass(const Job& job) {
  const Geometry& g = plan_.geometry;
  Pass pass{.job = job};
  const std::size_t state_bytes = StateBytes(job);
  std::size_t partials_bytes = ElementsScratchBytes(job, {g.outer, g.reduce, g.inner});
  std::int64_t rows = g.row_count();
  for (const Geometry::Fold& fold : g.folds) {
    pass.states_at.push_back(offsets_.Take(static_cast<std::size_t>(rows) * state_bytes));
    rows = fold.outer * fold.inner;
    partials_bytes =
        std::max(partials_bytes, StatesScratchBytes(job, {fold.outer, fold.count, fold.inner}));
  }
  pass.partials_at = offsets_.Take(partials_bytes);
  passes_.push_back(std::move(pass));
}

cudaError_t Reduction::Fold(const Pass& pass, const void* d_tensor, const Output& output,
                            std::byte* d_workspace, cudaStream_t stream) const {
  const Geometry& g = plan_.geometry;
  void* const d_partials = d_workspace + pass.partials_at;
  // Where fold number f leaves what the next one reads: states, or the results.
  const auto output_before = [&](std::size_t f) {
    Output to = output;
    if (f < g.folds.size()) to.states = d_workspace + pass.states_at[f];
    return to;
  };
  cudaError_t error = FoldElements(pass.job, d_tensor, {g.outer, g.reduce, g.inner},
                                   output_before(0), d_partials, stream);
  for (std::size_t f = 0; f < g.folds.size() && error == cudaSuccess; ++f) {
    const Geometry::Fold& fold = g.folds[f];
    error =
        FoldStates(pass.job, d_workspace + pass.states_at[f], {fold.outer, fold.count, fold.inner},
                   output_before(f + 1), d_partials, stream);
  }
  return error;
}

cudaError_t Reduction::Prepare(void* d_workspace, cudaStream_t stream) const {
  if (zeroed_bytes_ == 0) return cudaSuccess;
  return cudaMemsetAsync(d_workspace, 0, zeroed_bytes_, stream);
}

cudaError_t Reduction::Enqueue(const void* d_tensor, std::span<void* const> results,
                               Overflow* overflow, void* d_workspace, cudaStream_t stream) const {
  const bool lacks_overflow = overflow == nullptr && MayOverflow(plan_);
  if (results.size() != plan_.ops.size() || lacks_overflow) return cudaErrorInvalidValue;
  if (!AreAligned(plan_, d_tensor, results, d_workspace)) return cudaErrorMisalignedAddress;
  auto* const workspace = static_cast<std::byte*>(d_workspace);
  if (is_whole_sum_) {
    return ExactSum(plan_.dtype, d_tensor, plan_.element_count, device_, workspace, results[0],
                    stream);
  }
  Output output{.targets = TargetsOf(plan_, results), .overflow = overflow};
  if (recomputes_) {
    output.undecided = {.counts = reinterpret_cast<UndecidedCounts*>(workspace),
                        .numbers = reinterpret_cast<std::int64_t*>(workspace + numbers_at_),
                        .capacity = numbers_max_};
  }
  for (const Pass& pass : passes_) {
    Output of_pass = output;
    if (pass.job.is_product) {
      of_pass.targets = TargetsWhere(output.targets, IsProductOfFloats);
    }
    const cudaError_t error = Fold(pass, d_tensor, of_pass, workspace, stream);
    if (error != cudaSuccess) return error;
  }
  if (!recomputes_) return cudaSuccess;
  const Geometry& g = plan_.geometry;
  return RecomputeUndecided(sums_,
                            {.tensor = {.d_data = d_tensor, .extent = {g.outer, g.reduce, g.inner}},
                             .output_rows = g.output_rows(),
                             .outputs = plan_.output_count,
                             .list = output.undecided},
                            output.targets, workspace + sums_at_, stream);
}

}  // namespace warpfold::cuda
