#include "kernels/cpu/reduce.h"

#include "kernels/cpu/engine.h"

namespace warpfold::cpu {
namespace {

const Engine& EngineOfJob(const Job& job) {
  return VisitBuilt(job.dtype, [&](auto tag) -> const Engine& {
    return EngineFor<typename decltype(tag)::type>(job.fused_op_set);
  });
}

}  // namespace

std::size_t StateBytes(const Job& job) { return EngineOfJob(job).state_bytes; }

void FoldElements(const Job& job, const void* data, const Extent& extent, const Output& output,
                  ParallelFor parallel_for) {
  EngineOfJob(job).fold_elements(data, extent, output, parallel_for);
}

void FoldStates(const Job& job, const void* states, const Extent& extent, const Output& output,
                ParallelFor parallel_for) {
  EngineOfJob(job).fold_states(states, extent, output, parallel_for);
}

void ClearStates(const Job& job, void* states, std::int64_t count) {
  EngineOfJob(job).clear_states(states, count);
}

void AddElements(const Job& job, const void* data, const Extent& extent, const RowNumbers& rows,
                 void* states, ParallelFor parallel_for) {
  EngineOfJob(job).add_elements(data, extent, rows, states, parallel_for);
}

void AddStates(const Job& job, const void* from, std::int64_t count, void* states) {
  EngineOfJob(job).add_states(from, count, states);
}

}  // namespace warpfold::cpu
