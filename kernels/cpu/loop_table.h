// What the sources of SIMD loops have in common: the widths that they are compiled for, and tables
// of loops. Highway dispatches functions and not templates, so a source exports one function, which
// returns the table of all its loops of one width. Include it before Highway.
#ifndef WARPFOLD_KERNELS_CPU_LOOP_TABLE_H_
#define WARPFOLD_KERNELS_CPU_LOOP_TABLE_H_

#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/catalogue.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/fold.h"
#include "kernels/fold.h"

// Processors have AVX2 since 2013; what lies between it and the baseline is not worth its code.
// SVE's vectors have no size, and the loops keep arrays of vectors: NEON, which every aarch64 has.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

namespace warpfold::cpu {

// Structures of pointers to loops, each of a type of its own. A table converts to any of them.
template <class... Loops>
struct LoopTable : Loops... {
  // L{make(TypeTag<L>())} for each L, also for those of a table in the table.
  template <class Make>
  static constexpr LoopTable Of(const Make& make) {
    return {Entry<Loops>(make)...};
  }
  template <class L, class Make>
  static constexpr L Entry(const Make& make) {
    if constexpr (std::is_invocable_v<Make, TypeTag<L>>) {
      return {make(TypeTag<L>())};
    } else {
      return L::Of(make);
    }
  }
};

// Loops<T, kOmitsNan> of floats, and of all elements that are not lifted.
template <template <typename, bool> class Loops>
using FloatLoops =
    LoopTable<Loops<Half, false>, Loops<BFloat16, false>, Loops<float, false>, Loops<double, false>,
              Loops<Half, true>, Loops<BFloat16, true>, Loops<float, true>, Loops<double, true>>;
template <template <typename, bool> class Loops>
using ElementLoops =
    LoopTable<Loops<Bool, false>, Loops<std::int8_t, false>, Loops<std::uint8_t, false>,
              Loops<std::int16_t, false>, Loops<std::uint16_t, false>, Loops<std::int32_t, false>,
              Loops<std::uint32_t, false>, Loops<std::int64_t, false>, Loops<std::uint64_t, false>,
              FloatLoops<Loops>>;

// Loop<T, C> of each component C that folds of elements of T apply.
template <template <typename T, class C> class Loop>
struct LoopsOfComponents {
  template <typename T, NanPolicy kNanPolicy, class... Cs>
  static LoopTable<Loop<T, typename Fold<T, kNanPolicy>::template Applied<Cs>>...> In(
      Fold<T, kNanPolicy, Cs...>);
  template <typename T, bool kOmitsNan>
  using Of = decltype(In(exact::ValuesOfAllOps<T, kOmitsNan>()));
};
template <template <typename T, class C> class Loop>
using ComponentLoops = ElementLoops<LoopsOfComponents<Loop>::template Of>;

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_LOOP_TABLE_H_
