// The results of exact fusions, for emit.h.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_WRITER_H_
#define WARPFOLD_KERNELS_CPU_EXACT_WRITER_H_

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/finish_loops.h"
#include "kernels/exact/results.h"
#include "kernels/finish.h"
#include "kernels/ops/catalogue.h"

namespace warpfold::cpu {

// Writes the results of an exact::Fusion X.
template <class X>
struct FusionWriter {
  using State = typename X::State;

  static bool TakesBlocks(const ResultTargets& targets) {
    if (!kHasLoop) return false;
    return std::none_of(targets.ops, targets.ops + targets.count, [](Op op) {
      return StatisticOf<typename X::Storage>(op) != Statistic::kNone;
    });
  }

  template <int kCount>
  static int Write(const ResultTargets& targets, std::int64_t index, const State* states,
                   OpOverflow* op_overflow) {
    if constexpr (kCount != kFinishBlock) {
      return exact::WriteResults<X, kCount>(targets, index, states, op_overflow);
    } else if constexpr (kHasLoop) {
      const FinishLoop<typename X::Values>& loop = GetFinishLoops();
      return loop.write(targets, index, states, op_overflow);
    }
    return kCount;
  }

 private:
  static constexpr bool kHasLoop =
      X::kHasValuesAlone && X::Values::kComponents == 1 && !kIsLifted<typename X::Storage>;
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_WRITER_H_
