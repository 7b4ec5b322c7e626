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

// A block's numbers are passed over for so many grids at a time, whose running sums stay in
// registers.
constexpr int kGridBlock = 1024;
constexpr int kGridsAtOnce = 3;
constexpr int kGridRunning = 2;
// log2 of the additions to a lane of a running sum.
constexpr int kGridDepth =
    std::countr_zero(static_cast<unsigned>(kGridBlock / kGridRunning)) - kLanesLog2;
// Of a grid the running sums stay below half of its anchor; the last one has none, and both of its
// together have 53 bits.
constexpr int kGridBits = 51 - kGridDepth;
constexpr int kLastGridBits = 52 - kGridDepth;

// a - b. Where there is an instruction that multiplies and subtracts, by it: processors of AMD do
// that beside additions, and wide f32 took 0.31 ns instead of 0.39 (one core of an EPYC, Zen 4).
HWY_INLINE V SubByProduct(V a, V b) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(hn::Set(D(), 1.0), b, a);
#else
  return hn::Sub(a, b);
#endif
}

// Of `count` numbers below 2^top: takes what reaches the first kGrids grids, of 2^(top - kGridBits)
// and so on. The rest of each goes to `rests`; kIsLast: the last grid is of 2^lowest and takes all.
template <int kGrids, bool kIsLast, class Load>
HWY_INLINE void PassOverGrids(const Load& load, int count, int top, int lowest, double* rests,
                              int unit, std::int64_t* words) {
  const D d;
  const auto takes_all = [](int g) { return kIsLast && g == kGrids - 1; };
  V anchors[kGrids];
  V sums[kGrids][kGridRunning];
  for (int g = 0; g < kGrids; ++g) {
    const int grid = top - (g + 1) * kGridBits;
    anchors[g] = takes_all(g) ? hn::Zero(d) : hn::Set(d, 1.5 * PowerOfTwo(52 + grid));
    for (V& sum : sums[g]) sum = anchors[g];
  }
  for (int i = 0; i < count; i += kGridRunning * kLanes) {
    for (int r = 0; r < kGridRunning; ++r) {
      V rest = load(i + r * kLanes);
      for (int g = 0; g < kGrids; ++g) {
        const V sum = hn::Add(sums[g][r], rest);
        rest = SubByProduct(rest, hn::Sub(sum, sums[g][r]));
        sums[g][r] = sum;
      }
      if constexpr (!kIsLast) hn::Store(rest, d, rests + i + r * kLanes);
    }
  }
  for (int g = 0; g < kGrids; ++g) {
    const int grid = takes_all(g) ? lowest : top - (g + 1) * kGridBits;
    const V sum = hn::Add(hn::Sub(sums[g][0], anchors[g]), hn::Sub(sums[g][1], anchors[g]));
    exact::AddAt(words, SumOfIntegers(ScaleBy(sum, -grid)), grid - unit);
  }
}

// A wide tile, of numbers that all are below 2^top and multiples of 2^lowest: on grids from the
// coarsest to the finest. Each takes of every number what reaches it and leaves the rest to the
// next. `count` is a multiple of 4 vectors. The words are in units of 2^unit. False, and nothing is
// added, where a grid's constants would overflow.
template <class Load>
HWY_NOINLINE bool AddOnGrids(const Load& load, int count, int top, int lowest, int unit,
                             std::int64_t* words) {
  if (top - kGridBits + 53 > 1023) return false;
  alignas(64) double rests[kGridBlock];
  for (int begin = 0; begin < count; begin += kGridBlock) {
    const int size = std::min(kGridBlock, count - begin);
    // False after the last.
    const auto pass = [&](const auto& from, int below) {
      const auto of = [&]<int kGrids, bool kIsLast>() {
        PassOverGrids<kGrids, kIsLast>(from, size, below, lowest, rests, unit, words);
        return !kIsLast;
      };
      const int bits = below - lowest;
      if (bits <= kLastGridBits) return of.template operator()<1, true>();
      if (bits <= kLastGridBits + kGridBits) return of.template operator()<2, true>();
      if (bits <= kLastGridBits + 2 * kGridBits) return of.template operator()<3, true>();
      return of.template operator()<kGridsAtOnce, false>();
    };
    int below = top;
    bool has_rest = pass([&](int i) { return load(begin + i); }, below);
    while (has_rest) {
      below -= kGridsAtOnce * kGridBits;
      has_rest = pass([&](int i) { return hn::Load(D(), rests + i); }, below);
    }
  }
  return true;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WARPFOLD_KERNELS_CPU_EXACT_GRIDS_INL_H_
