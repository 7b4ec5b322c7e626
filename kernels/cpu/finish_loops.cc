#include "kernels/cpu/finish_loops.h"

#include "kernels/cpu/each_loop.h"
#include "kernels/fold.h"

// Compiled once for each SIMD target; the loops are finish.h's.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/finish_loops.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"

#define WARPFOLD_LOOPS_OF_ONE(T, name) \
  WARPFOLD_LOOP(T, name, Min) WARPFOLD_LOOP(T, name, Max) WARPFOLD_LOOP(T, name, NonzeroCount)
#define WARPFOLD_LOOP_OF_SUM(T, name) WARPFOLD_LOOP(T, name, Sum)

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

template <class F>
int Finish(const ResultTargets& targets, std::int64_t index, const typename F::State* states,
           OpOverflow* op_overflow) {
  return WriteResults<F, kFinishBlock>(targets, index, states, op_overflow);
}

#define WARPFOLD_LOOP(T, name, component)                             \
  FinishLoop<PlainFold<T, component<T>>>* Finish##component##name() { \
    return &Finish<PlainFold<T, component<T>>>;                       \
  }
WARPFOLD_FOR_EACH_INTEGER(WARPFOLD_LOOP_OF_SUM)
WARPFOLD_FOR_EACH_INTEGER(WARPFOLD_LOOPS_OF_ONE)
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOPS_OF_ONE)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_LOOP(T, name, component)                                               \
  HWY_EXPORT(Finish##component##name);                                                  \
  template <>                                                                           \
  FinishLoop<PlainFold<T, component<T>>>* GetFinishLoop<PlainFold<T, component<T>>>() { \
    return HWY_DYNAMIC_DISPATCH(Finish##component##name)();                             \
  }
WARPFOLD_FOR_EACH_INTEGER(WARPFOLD_LOOP_OF_SUM)
WARPFOLD_FOR_EACH_INTEGER(WARPFOLD_LOOPS_OF_ONE)
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOPS_OF_ONE)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
