#include "kernels/cpu/lift.h"

#include <cstdint>

// Compiled once for each SIMD target; the loops are plain, and the compiler vectorises them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/lift.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

template <typename Stored>
void LiftAll(const Stored* HWY_RESTRICT elements, std::int64_t count,
             Lifted<Stored>* HWY_RESTRICT lifted) {
  for (std::int64_t i = 0; i < count; ++i) lifted[i] = Lift(elements[i]);
}

const LiftLoopTable& AllLiftLoops() {
  static constexpr auto kLoops = LiftLoopTable::Of(
      []<typename Stored>(TypeTag<LiftLoop<Stored>>) { return &LiftAll<Stored>; });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllLiftLoops);
const LiftLoopTable& GetLiftLoops() { return HWY_DYNAMIC_DISPATCH(AllLiftLoops)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
