#include "server/device/cpu/cpu_folds.h"

#include <tbb/parallel_for.h>

#include <algorithm>

#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

void ParallelTasks(std::int64_t count, cpu::Task task) {
  if (count == 1) {
    task(0);
  } else {
    tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t i) {
      const BadAllocScope scope;  // of this thread; TBB brings the exception to the worker's
      task(i);
    });
  }
}

}  // namespace

CpuFolds::CpuFolds(const Plan& plan, const SegmentCutter& cutter)
    : job_{plan.dtype, plan.fused_op_set()},
      geometry_(plan.geometry),
      outputs_(plan.output_count),
      leaves_states_(plan.leaves_states),
      keeps_states_(leaves_states_ || cutter.kind() != SegmentKind::kPlanes ||
                    !geometry_.folds.empty()) {}

std::size_t CpuFolds::SegmentBytes(const Plan& plan, std::size_t least, std::size_t memory_bytes) {
  constexpr std::size_t kMultiple = std::size_t{64} << 10;
  const Geometry& g = plan.geometry;
  const std::size_t row_bytes = static_cast<std::size_t>(g.inner) * ElementBytes(plan.dtype);
  const std::size_t plane_bytes = static_cast<std::size_t>(g.reduce) * row_bytes;
  if (g.inner == 1 || plane_bytes <= least) return least;
  const std::size_t state_bytes = cpu::EngineFor({plan.dtype, plan.fused_op_set()}).StateBytes();
  const std::size_t row_states_bytes = static_cast<std::size_t>(g.inner) * state_bytes;
  const std::size_t whole = (plane_bytes + kMultiple - 1) / kMultiple * kMultiple;
  // Whole planes need no states, unless these are asked for, or folded further out.
  const bool needs_states = plan.leaves_states || !g.folds.empty();
  if (!needs_states && plane_bytes <= 2 * row_states_bytes && whole <= memory_bytes) return whole;
  const std::size_t states_bytes = static_cast<std::size_t>(plan.output_count) * state_bytes;
  const std::size_t left = memory_bytes > states_bytes ? memory_bytes - states_bytes : 0;
  return std::max(least, std::min({whole, row_states_bytes, left}) / kMultiple * kMultiple);
}

std::size_t CpuFolds::scratch_bytes() const {
  constexpr std::size_t kAlignment = 256;  // of the results, which lie behind it
  if (!keeps_states_ || leaves_states_) return 0;
  return (static_cast<std::size_t>(outputs_) * state_bytes() + kAlignment - 1) / kAlignment *
         kAlignment;
}

void CpuFolds::Place(std::byte* scratch, const Output& results) {
  results_ = results;
  if (!keeps_states_) return;
  states_ = leaves_states_ ? results.states : scratch;
  cpu::EngineFor(job_).ClearStates(states_, outputs_);
}

absl::Status CpuFolds::Fold(const void* data, const Segment& segment) {
  const Extent extent{segment.planes, segment.rows, segment.columns, segment.first};
  const std::int64_t first_row = segment.plane * geometry_.inner + segment.column;
  return OrNoHostMemory([&] {
    if (keeps_states_) {
      cpu::EngineFor(job_).AddElements(data, extent, {geometry_.output_rows(), first_row}, states_,
                                       ParallelTasks);
    } else {
      Output output = results_;
      output.first_result = first_row;
      cpu::EngineFor(job_).FoldElements(data, extent, output, ParallelTasks);
    }
    return absl::OkStatus();
  });
}

absl::Status CpuFolds::Finish() {
  if (!keeps_states_ || leaves_states_) return absl::OkStatus();
  return OrNoHostMemory([&] {
    cpu::EngineFor(job_).FoldStates(states_, {1, 1, outputs_}, results_, ParallelTasks);
    return absl::OkStatus();
  });
}

}  // namespace warpfold
