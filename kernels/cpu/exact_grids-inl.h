// Vectors of float64 that are integers in some unit, and the exact sum of numbers however far
// apart. Of Highway's kind: included once for each SIMD target, after foreach_target.h.
#if defined(WARPFOLD_KERNELS_CPU_EXACT_GRIDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WARPFOLD_KERNELS_CPU_EXACT_GRIDS_INL_H_
#undef WARPFOLD_KERNELS_CPU_EXACT_GRIDS_INL_H_
#else
#define WARPFOLD_KERNELS_CPU_EXACT_GRIDS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/exact/state.h"
#include "kernels/host_device.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
constexpr int kLanesLog2 = std::countr_zero(static_cast<unsigned>(kLanes));

HWY_INLINE double PowerOfTwo(int exponent) {  // of a normal number
  return BitCast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// The lanes of `x`, which are integers below 2^53, added up.
HWY_INLINE std::int64_t SumOfIntegers(V x) {
  double lanes[kLanes];
  hn::StoreU(x, D(), lanes);
  std::int64_t sum = 0;
  for (const double lane : lanes) sum += static_cast<std::int64_t>(lane);
  return sum;
}

HWY_INLINE V ScaleBy(V x, int exponent) {
  const D d;
  constexpr int kMost = 1000;  // of a normal number, both ways
  const int first = std::clamp(exponent, -kMost, kMost);
  const V scaled = hn::Mul(x, hn::Set(d, PowerOfTwo(first)));
  return first == exponent ? scaled : hn::Mul(scaled, hn::Set(d, PowerOfTwo(exponent - first)));
}

// Whether every lane is -0.0.
HWY_INLINE bool IsNegativeZero(V x) {
  const hn::RebindToUnsigned<D> bits;
  return hn::AllTrue(bits, hn::Eq(hn::BitCast(bits, x), hn::BitCast(bits, hn::Set(D(), -0.0))));
}

template <class Tag>
HWY_INLINE hn::TFromD<Tag> Largest(Tag d, hn::Vec<Tag> x) {
  return hn::GetLane(hn::MaxOfLanes(d, x));
}
template <class Tag>
HWY_INLINE hn::TFromD<Tag> Smallest(Tag d, hn::Vec<Tag> x) {
  return hn::GetLane(hn::MinOfLanes(d, x));
}

// A wide tile, of numbers that all are below 2^top and multiples of 2^lowest: a grid at a time,
// from the coarsest to the finest. Each takes of every number what reaches it and leaves the rest
// to the next. `count` is a multiple of 4 vectors. The words are in units of 2^unit. False, and
// nothing is added, where a grid's constants would overflow.
template <class Load>
HWY_NOINLINE bool AddOnGrids(const Load& load, int count, int top, int lowest, int unit,
                             std::int64_t* words) {
  const D d;
  constexpr int kBlock = 1024;  // whose rests stay in the first-level cache
  constexpr int kRunning = 4;
  constexpr int kDepth = std::countr_zero(static_cast<unsigned>(kBlock / kRunning)) - kLanesLog2;
  constexpr int kGridBits = 51 - kDepth;
  if (top - kGridBits + 53 > 1023) return false;
  alignas(64) double rests[kBlock];
  for (int begin = 0; begin < count; begin += kBlock) {
    const int size = std::min(kBlock, count - begin);
    for (int i = 0; i < size; i += kLanes) hn::Store(load(begin + i), d, rests + i);
    int grid = top;
    do {
      grid = std::max(grid - kGridBits, lowest);
      const V anchor = hn::Set(d, 1.5 * PowerOfTwo(52 + grid));
      V sums[kRunning];
      for (V& sum : sums) sum = anchor;
      for (int i = 0; i < size; i += kRunning * kLanes) {
        for (int r = 0; r < kRunning; ++r) {
          double* const at = rests + i + r * kLanes;
          const V x = hn::Load(d, at);
          const V sum = hn::Add(sums[r], x);
          hn::Store(hn::Sub(x, hn::Sub(sum, sums[r])), d, at);
          sums[r] = sum;
        }
      }
      std::int64_t total = 0;
      for (const V& sum : sums) total += SumOfIntegers(ScaleBy(hn::Sub(sum, anchor), -grid));
      exact::AddAt(words, total, grid - unit);
    } while (grid > lowest);
  }
  return true;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WARPFOLD_KERNELS_CPU_EXACT_GRIDS_INL_H_
