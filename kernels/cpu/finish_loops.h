// The last step of folds of one component, compiled for every SIMD width and chosen at run time by
// what the processor has: where rows or columns are short, their results are as many bytes as
// their elements.
#ifndef WARPFOLD_KERNELS_CPU_FINISH_LOOPS_H_
#define WARPFOLD_KERNELS_CPU_FINISH_LOOPS_H_

#include <cstdint>

#include "kernels/finish.h"

namespace warpfold::cpu {

// Of states one after another; the number of the first whose result does not fit, `kFinishBlock`
// if all do, as WriteResults has it.
inline constexpr int kFinishBlock = 64;
template <class F>
using FinishLoop = int(const ResultTargets& targets, std::int64_t index,
                       const typename F::State* states, OpOverflow* op_overflow);

// The loop for this processor. Cheap after the first call; safe from any thread. F is of one
// component.
template <class F>
FinishLoop<F>* GetFinishLoop();

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_FINISH_LOOPS_H_
