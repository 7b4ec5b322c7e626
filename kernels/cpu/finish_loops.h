// The last step of folds of one component, compiled for every SIMD width and chosen at run time by
// what the processor has: where rows or columns are short, their results are as many bytes as
// their elements.
#ifndef WARPFOLD_KERNELS_CPU_FINISH_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_FINISH_LOOPS_H_

#include <cstdint>

#include "kernels/cpu/loop_table.h"
#include "kernels/finish.h"
#include "kernels/fold.h"

namespace warpfold::cpu {

// Of a fold F of one component.
inline constexpr int kFinishBlock = 64;
template <class F>
struct FinishLoop {
  // Of states one after another; the number of the first whose result does not fit, `kFinishBlock`
  // if all do, as WriteResults has it.
  int (*write)(const ResultTargets& targets, std::int64_t index, const typename F::State* states,
               OpOverflow* op_overflow);
};
template <typename T, class C>
using FinishLoopOf = FinishLoop<PlainFold<T, C>>;

// The loops for this processor: of Sum of integers, Min, Max and NonzeroCount; null of others.
// Cheap after the first call; safe from any thread.
using FinishLoopTable = ComponentLoops<FinishLoopOf>;
const FinishLoopTable& GetFinishLoops();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_FINISH_LOOPS_H_
