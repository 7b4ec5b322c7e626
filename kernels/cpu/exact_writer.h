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
    if (!X::kHasValuesAlone || X::Values::kComponents != 1) return false;
    return std::none_of(targets.ops, targets.ops + targets.count, [](Op op) {
      return StatisticOf<typename X::Element>(op) != Statistic::kNone;
    });
  }

  template <int kCount>
  static int Write(const ResultTargets& targets, std::int64_t index, const State* states,
                   Misfit* misfit) {
    if constexpr (kCount != kFinishBlock) {
      return exact::WriteResults<X, kCount>(targets, index, states, misfit);
    } else if constexpr (X::kHasValuesAlone && X::Values::kComponents == 1) {
      return GetFinishLoop<typename X::Values>()(targets, index, states, misfit);
    }
    return kCount;
  }
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_WRITER_H_
