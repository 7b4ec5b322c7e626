#include "kernels/cpu/lift.h"

#include <cstdint>

#include "kernels/cpu/each_loop.h"

// Compiled once for each SIMD target; the loops are plain, and the compiler vectorises them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/lift.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"

#define WARPFOLD_FOR_EACH_LIFTED(do_one) do_one(F8E4M3, F8E4M3) do_one(F8E5M2, F8E5M2)

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

template <typename Stored>
void LiftAll(const Stored* HWY_RESTRICT elements, std::int64_t count,
             Lifted<Stored>* HWY_RESTRICT lifted) {
  for (std::int64_t i = 0; i < count; ++i) lifted[i] = Lift(elements[i]);
}

#define WARPFOLD_LOOP(Stored, name) \
  LiftLoop<Stored> LiftLoopOf##name() { return &LiftAll<Stored>; }
WARPFOLD_FOR_EACH_LIFTED(WARPFOLD_LOOP)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_LOOP(Stored, name)                  \
  HWY_EXPORT(LiftLoopOf##name);                      \
  template <>                                        \
  LiftLoop<Stored> GetLiftLoop<Stored>() {           \
    return HWY_DYNAMIC_DISPATCH(LiftLoopOf##name)(); \
  }
WARPFOLD_FOR_EACH_LIFTED(WARPFOLD_LOOP)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
