#include "kernels/cpu/reduction.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "kernels/ops/catalogue.h"
#include "kernels/targets.h"

namespace warpfold::cpu {
namespace {

bool IsAligned(const std::byte* elements, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(elements) % ElementBytes(dtype) == 0;
}

}  // namespace

absl::StatusOr<Reduction> Reduction::Make(const ReduceSpec& spec) {
  absl::StatusOr<Plan> plan = MakePlan(spec);
  if (!plan.ok()) return plan.status();
  if (absl::Status built = BuiltStatus(spec.dtype); !built.ok()) return built;
  return Reduction(*std::move(plan));
}

Reduction::Reduction(Plan plan) : plan_(std::move(plan)) {}

absl::Status Reduction::CheckArrays(std::span<const std::byte> tensor,
                                    std::span<const std::span<std::byte>> results) const {
  if (tensor.size() != static_cast<std::size_t>(plan_.input_bytes)) {
    return InvalidField(Field::kData, absl::StrCat("has ", tensor.size(), " bytes, the tensor has ",
                                                   plan_.input_bytes));
  }
  if (results.size() != plan_.ops.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("results: ", results.size(), " arrays for ", plan_.ops.size(), " ops"));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(plan_.result_bytes(i));
    if (results[i].size() != bytes) {
      return absl::InvalidArgumentError(absl::StrCat("results[", i, "]: has ", results[i].size(),
                                                     " bytes, those of ", Name(plan_.ops[i]),
                                                     " have ", bytes));
    }
    if (!IsAligned(results[i].data(), plan_.result_dtype(i))) {
      return absl::InvalidArgumentError(absl::StrCat("results[", i, "]: are not on a multiple of ",
                                                     ElementBytes(plan_.result_dtype(i)),
                                                     " bytes"));
    }
  }
  if (!IsAligned(tensor.data(), plan_.dtype)) {
    return InvalidField(Field::kData, absl::StrCat("is not on a multiple of ",
                                                   ElementBytes(plan_.dtype), " bytes"));
  }
  return absl::OkStatus();
}

absl::Status Reduction::Run(std::span<const std::byte> tensor,
                            std::span<const std::span<std::byte>> results,
                            ParallelFor parallel_for) const {
  if (absl::Status status = CheckArrays(tensor, results); !status.ok()) return status;
  if (plan_.output_count == 0) return absl::OkStatus();
  std::vector<void*> arrays;
  for (const std::span<std::byte> array : results) arrays.push_back(array.data());
  Overflow overflow;
  const Output output{.targets = TargetsOf(plan_, arrays), .overflow = &overflow};
  const Engine& engine = EngineFor({plan_.dtype, plan_.fused_op_set()});
  const Geometry& g = plan_.geometry;
  const Extent extent{g.outer, g.reduce, g.inner};
  if (g.folds.empty() && plan_.element_count > 0) {
    engine.FoldElements(tensor.data(), extent, output, parallel_for);
    return OverflowStatus(overflow, plan_);
  }
  // Rows join the states of their outputs; without elements those are as they began.
  const auto states = std::make_unique_for_overwrite<std::byte[]>(
      static_cast<std::size_t>(plan_.output_count) * engine.StateBytes());
  engine.ClearStates(states.get(), plan_.output_count);
  if (plan_.element_count > 0) {
    engine.AddElements(tensor.data(), extent, {g.output_rows(), 0}, states.get(), parallel_for);
  }
  engine.FoldStates(states.get(), {1, 1, plan_.output_count}, output, parallel_for);
  return OverflowStatus(overflow, plan_);
}

}  // namespace warpfold::cpu
