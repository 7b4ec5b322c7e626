#include "kernels/cpu/finish_loops.h"

#include <type_traits>

// Compiled once for each SIMD target; the loops are finish.h's.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/finish_loops.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

template <class F>
int Finish(const ResultTargets& targets, std::int64_t index, const typename F::State* states,
           OpOverflow* op_overflow) {
  return WriteResults<F, kFinishBlock>(targets, index, states, op_overflow);
}

const FinishLoopTable& AllFinishLoops() {
  static constexpr auto kLoops =
      FinishLoopTable::Of([]<typename T, class C>(TypeTag<FinishLoopOf<T, C>>) {
        if constexpr (std::is_same_v<C, Sum<T>> || std::is_same_v<C, Min<T>> ||
                      std::is_same_v<C, Max<T>> || std::is_same_v<C, NonzeroCount<T>>) {
          return &Finish<PlainFold<T, C>>;
        } else {
          return nullptr;
        }
      });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllFinishLoops);
const FinishLoopTable& GetFinishLoops() { return HWY_DYNAMIC_DISPATCH(AllFinishLoops)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
