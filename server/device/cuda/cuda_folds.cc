#include "server/device/cuda/cuda_folds.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/float_sums.h"
#include "kernels/targets.h"
#include "server/device/cuda/memory/cuda_resources.h"

namespace warpfold {
namespace {

// Those of the targets' ops that sums do not give.
ResultTargets WithoutSums(const ResultTargets& targets) {
  return TargetsWhere(targets, [](Op op) { return !cuda::IsOfFloatSums(op); });
}

bool IsWholeSum(const Plan& plan, const SegmentCutter& cutter) {
  return cuda::IsSumOfAll(plan) && plan.input_bytes >= cuda::ExactSumBytesMin(plan.dtype) &&
         cutter.is_whole() && !plan.leaves_states && !plan.leaves_partials;
}

}  // namespace

CudaFolds::CudaFolds(const Plan& plan, const SegmentCutter& cutter, const cuda::DeviceShape& device)
    : kind_(cutter.kind()),
      leaves_states_(plan.leaves_states),
      sums_segments_(!plan.leaves_partials && (!cutter.is_whole() || leaves_states_)),
      outputs_(plan.output_count) {
  if (IsWholeSum(plan, cutter)) {
    whole_sum_ = {.dtype = plan.dtype, .count = plan.element_count, .device = device};
    return;
  }
  cuda::Job job{.dtype = plan.dtype, .fused_op_set = plan.fused_op_set(), .device = device};
  if (!IsFloat(plan.dtype)) {
    AddPass(plan, cutter, job, Gives::kAll);
    return;
  }
  std::vector<Op> ops = plan.ops;
  const bool has_product = std::erase_if(ops, cuda::IsProductOfFloats) > 0;
  const bool has_sums =
      !plan.leaves_partials && std::any_of(ops.begin(), ops.end(), cuda::IsOfFloatSums);
  if (sums_segments_) std::erase_if(ops, cuda::IsOfFloatSums);
  // A state has the number of NaN, which a fold of products does not count.
  const bool counts_nan =
      leaves_states_ && !plan.leaves_partials && !has_sums && plan.nan_policy == NanPolicy::kOmit;
  if (!ops.empty() || counts_nan) {
    // The states of a part are gathered by the plan's fused op set.
    if (!leaves_states_ || plan.leaves_partials) {
      job.fused_op_set = FusedOpSetFor(plan.dtype, ops, plan.nan_policy);
    }
    AddPass(plan, cutter, job, sums_segments_ ? Gives::kAllButSums : Gives::kAll);
  }
  if (has_product) {
    job.fused_op_set = plan.fused_op_set();
    job.is_product = true;
    AddPass(plan, cutter, job, Gives::kProducts);
  }
  if (has_sums) {
    sums_.emplace(plan, cutter, device);
    if (!leaves_states_) sums_at_ = offsets_.Take(sums_->sums_bytes());
    if (!sums_segments_) {
      undecided_.capacity = cuda::ListedUndecidedMax(outputs_);
      undecided_at_ =
          offsets_.Take(static_cast<std::size_t>(undecided_.capacity) * sizeof(std::int64_t));
    }
  }
}

void CudaFolds::AddPass(const Plan& plan, const SegmentCutter& cutter, const cuda::Job& job,
                        Gives gives) {
  const CudaBackend backend(job, nullptr);
  const ScratchLayout layout(plan, cutter, backend);
  passes_.push_back({backend, gives, layout, offsets_.Take(layout.total_bytes), std::nullopt});
}

std::vector<std::size_t> CudaFolds::state_bytes() const {
  std::vector<std::size_t> bytes;
  for (const Pass& pass : passes_) bytes.push_back(pass.backend.StateBytes());
  if (sums_) bytes.push_back(sums_->state_bytes());
  return bytes;
}

std::vector<void*> CudaFolds::JoinedStates() const {
  std::vector<void*> states;
  for (const Pass& pass : passes_) states.push_back(pass.folding->first_states());
  return states;
}

cpu::DeviceStates CudaFolds::StatesIn(const std::vector<void*>& arrays) const {
  cpu::DeviceStates states;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    (passes_[i].gives == Gives::kProducts ? states.products : states.folded) = arrays[i];
  }
  if (sums_) {
    states.sums = arrays.back();
    states.sums_kind = sums_->kind();
  }
  return states;
}

void CudaFolds::Place(const Plan& plan, const Places& places, cudaStream_t stream) {
  const auto& [d_scratch, d_zeros, results, states, undecided] = places;
  if (whole_sum_) {
    whole_sum_->d_scratch = d_zeros;
    whole_sum_->d_result = results.targets.arrays[0];
    whole_sum_->stream = stream;
  }
  undecided_.counts = undecided;
  *undecided = {};
  undecided_.numbers = reinterpret_cast<std::int64_t*>(d_scratch + undecided_at_);
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    Pass& pass = passes_[i];
    pass.backend = CudaBackend(pass.backend.job(), stream);
    Output output = results;
    output.undecided = undecided_;
    if (leaves_states_) output.states = states[i];
    if (pass.gives != Gives::kAll) output.targets = WithoutSums(results.targets);
    pass.folding.emplace(plan, kind_, pass.backend.StateBytes(), pass.layout,
                         d_scratch + pass.scratch_at, output);
  }
  if (sums_) {
    std::byte* const d_sums =
        leaves_states_ ? static_cast<std::byte*>(states.back()) : d_scratch + sums_at_;
    sums_->Place(d_sums, results.targets, stream);
  }
}

absl::Status CudaFolds::Fold(const void* d_data, const Segment& segment) {
  d_tensor_ = d_data;
  if (whole_sum_) {
    const WholeSum& sum = *whole_sum_;
    WARPFOLD_RETURN_IF_CUDA_ERROR(cuda::ExactSum(sum.dtype, d_data, sum.count, sum.device,
                                                 sum.d_scratch, sum.d_result, sum.stream));
    return absl::OkStatus();
  }
  for (Pass& pass : passes_) {
    if (absl::Status status = pass.folding->Fold(pass.backend, d_data, segment); !status.ok()) {
      return status;
    }
  }
  return sums_ && sums_segments_ ? sums_->Add(d_data, segment) : absl::OkStatus();
}

absl::Status CudaFolds::Finish() {
  for (Pass& pass : passes_) {
    if (absl::Status status = pass.folding->Finish(pass.backend); !status.ok()) return status;
  }
  return sums_ && sums_segments_ && !leaves_states_ ? sums_->Finish() : absl::OkStatus();
}

absl::StatusOr<bool> CudaFolds::RecomputeUndecided() {
  if (!has_undecided() || d_tensor_ == nullptr) return false;
  cuda::Outputs outputs{.count = outputs_};
  const UndecidedCounts counts = std::exchange(*undecided_.counts, {});
  if (counts.all <= undecided_.capacity) {
    outputs = {.count = counts.all, .d_numbers = undecided_.numbers};
  }
  absl::Status status = sums_->SumAgain(d_tensor_, outputs, counts.beyond_sums != 0);
  if (!status.ok()) return status;
  return true;
}

}  // namespace warpfold
