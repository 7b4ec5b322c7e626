// A whole reduction by the CPU kernels, without a server's lane; shared by the kernels' tests.
#ifndef WARPFOLD_TESTS_KERNELS_CPU_REDUCE_H_
#define WARPFOLD_TESTS_KERNELS_CPU_REDUCE_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/ops/catalogue.h"
#include "kernels/plan.h"

namespace warpfold::testing {

// Runs tasks in a random order: what a task does must not depend on which tasks ran before it.
class Shuffled {
 public:
  explicit Shuffled(std::uint64_t seed) : random_(seed) {}
  void operator()(std::int64_t count, cpu::Task task) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::int64_t i : order) task(i);
  }

 private:
  mutable std::mt19937_64 random_;
};

struct Results {
  std::vector<std::string> bytes;
  Overflow overflow;
};

// The whole plan on host memory: elements, then the folds further out.
inline Results Reduce(const Plan& plan, const void* data, cpu::ParallelFor parallel_for) {
  const cpu::Job job{plan.dtype, plan.fused_op_set()};
  const Geometry& g = plan.geometry;
  Results results;
  Output output;
  output.overflow = &results.overflow;
  output.targets.reduced_count = plan.reduced_count;
  output.targets.correction = plan.correction;
  output.targets.reduced_run_count = static_cast<int>(g.reduced_runs.size());
  std::copy(g.reduced_runs.begin(), g.reduced_runs.end(), output.targets.reduced_runs);
  results.bytes.resize(plan.ops.size());
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    results.bytes[i].resize(static_cast<std::size_t>(plan.output_count) *
                            ElementBytes(ResultDType(plan.ops[i], plan.dtype)));
    output.targets.ops[i] = plan.ops[i];
    output.targets.arrays[i] = results.bytes[i].data();
  }
  output.targets.count = static_cast<int>(plan.ops.size());

  std::vector<std::vector<char>> states(g.folds.size());
  const std::size_t state_bytes = cpu::EngineFor(job).StateBytes();
  const auto next = [&](std::size_t fold, std::int64_t count) {
    if (fold == g.folds.size()) return output;
    states[fold].resize(static_cast<std::size_t>(count) * state_bytes);
    Output between;
    between.states = states[fold].data();
    return between;
  };
  cpu::EngineFor(job).FoldElements(data, {g.outer, g.reduce, g.inner}, next(0, g.row_count()),
                                   parallel_for);
  for (std::size_t f = 0; f < g.folds.size(); ++f) {
    const Extent extent{g.folds[f].outer, g.folds[f].count, g.folds[f].inner};
    cpu::EngineFor(job).FoldStates(states[f].data(), extent, next(f + 1, extent.outputs()),
                                   parallel_for);
  }
  return results;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_CPU_REDUCE_H_
