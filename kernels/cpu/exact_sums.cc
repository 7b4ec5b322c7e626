#include "kernels/cpu/exact_sums.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/exact/state.h"

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/exact_sums.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/cpu/exact_double_tile-inl.h"
#include "kernels/cpu/exact_elements-inl.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One window a tile.
template <typename T, bool kOmitsNan>
struct NarrowTile : NarrowElements<T, kOmitsNan> {
  using N = NarrowElements<T, kOmitsNan>;
  using typename N::Bits;
  using typename N::BitsTag;
  static constexpr int kTile = std::is_same_v<T, float> ? 1024 : 4096;
  static constexpr int kRunning = 4;
  // A lane adds up kTile / kLanes elements, each an integer below 2^(precision + kWindow) in units
  // of the last place of the smallest.
  static constexpr int kWindow =
      53 - N::kPrecision - (std::countr_zero(static_cast<unsigned>(kTile)) - kLanesLog2);
  static constexpr bool kAlwaysFits = kWindow >= N::kExponentMask - 2;

  static constexpr int kBitsLanes = static_cast<int>(hn::MaxLanes(BitsTag()));
  static constexpr int kStep = std::max(kRunning * kLanes, kBitsLanes);
  static constexpr int kLineElements = 64 / static_cast<int>(sizeof(T));

  // `count` elements, whole steps and at most kTile.
  std::uint32_t Add(const T* tile, int count, const ExactWords& words) const {
    const D d;
    const BitsTag bits;
    V sums[kRunning];
    for (V& sum : sums) sum = hn::Set(d, -0.0);  // so that it is -0.0 only of nothing else
    auto largest = hn::Zero(bits);
    auto smallest_less_one = hn::Set(bits, static_cast<Bits>(~Bits{0}));
    for (int i = 0; i < count; i += kStep) {
      for (int v = 0; v < kStep; v += kLineElements) hwy::Prefetch(tile + i + v + N::kAhead);
      if constexpr (!kAlwaysFits) {
        for (int v = 0; v < kStep; v += kBitsLanes) {
          const auto magnitude = N::LoadMagnitude(bits, tile + i + v);
          largest = hn::Max(largest, magnitude);
          smallest_less_one = hn::Min(smallest_less_one, hn::Sub(magnitude, hn::Set(bits, 1)));
        }
      }
      for (int v = 0; v < kStep; v += kRunning * kLanes) {
        for (int r = 0; r < kRunning; ++r) {
          sums[r] = hn::Add(sums[r], N::Load(tile + i + v + r * kLanes));
        }
      }
    }
    const V sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    Exponents exponents{1, 1};
    if constexpr (kAlwaysFits) {
      // Nothing overflows float64: what is not finite was among the elements.
      if (!hn::AllTrue(d, hn::IsFinite(sum))) return AddSlowly<T, kOmitsNan>(tile, count, words);
    } else {
      exponents = N::ExponentsOf(largest, smallest_less_one);
      if (exponents.largest == N::kExponentMask) {
        return AddSlowly<T, kOmitsNan>(tile, count, words);
      }
      if (exponents.largest - exponents.smallest > kWindow) {
        const auto load = [tile](int i) { return N::Load(tile + i); };
        AddOnGrids(load, count, N::ExponentOfLast(exponents.largest) + N::kPrecision,
                   N::ExponentOfLast(exponents.smallest), exact::DigitLayout<T, 1>::kUnit,
                   words.sum);
        return exact::kHasOtherThanNegativeZero;
      }
    }
    const int lowest = N::ExponentOfLast(std::max(exponents.largest - kWindow, 1));
    exact::AddAt(words.sum, SumOfIntegers(hn::Mul(sum, hn::Set(d, PowerOfTwo(-lowest)))),
                 lowest - exact::DigitLayout<T, 1>::kUnit);
    return IsNegativeZero(sum) ? 0u : std::uint32_t{exact::kHasOtherThanNegativeZero};
  }
};

const ExactSumLoopTable& AllExactSumLoops() {
  static constexpr auto kLoops =
      ExactSumLoopTable::Of([]<typename T, bool kOmitsNan>(TypeTag<ExactSumLoop<T, kOmitsNan>>) {
        using Tile = std::conditional_t<std::is_same_v<T, double>, DoubleTile<kOmitsNan>,
                                        NarrowTile<T, kOmitsNan>>;
        return &AddTiles<Tile, T>;
      });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllExactSumLoops);
const ExactSumLoopTable& GetExactSumLoops() { return HWY_DYNAMIC_DISPATCH(AllExactSumLoops)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
