#include "kernels/cpu/exact_sums.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/each_loop.h"
#include "kernels/element.h"
#include "kernels/exact/state.h"

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/exact_sums.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The exponent fields of a tile's largest element and of its smallest that is not zero, subnormal
// ones as 1.
struct Exponents {
  int largest;
  int smallest;
};

// An element at a time, whatever they are.
template <typename T, bool kOmitsNan>
std::uint32_t AddSlowly(const T* tile, int count, std::int64_t* words) {
  std::uint32_t specials = 0;
  for (int i = 0; i < count; ++i) {
    const T x = tile[i];
    if (kOmitsNan && IsNan(x)) continue;
    if (IsNan(x)) {
      specials |= exact::kHasNan;
    } else if (IsInf(x)) {
      specials |=
          std::uint32_t{Widen(x) > 0 ? exact::kHasPositiveInfinity : exact::kHasNegativeInfinity};
    } else {
      const exact::ElementParts parts = exact::PartsOf(x);
      exact::AddAt(words, parts.mantissa, parts.bit);
      if (BitCast<typename exact::FloatFormat<T>::Bits>(x) ==
          BitCast<typename exact::FloatFormat<T>::Bits>(RoundFromDouble<T>(-0.0))) {
        continue;
      }
    }
    specials |= exact::kHasOtherThanNegativeZero;
  }
  return specials;
}

// f32, bf16 and f16, which float64 holds with bits to spare.
template <typename T, bool kOmitsNan>
struct NarrowTile {
  using Bits = typename exact::FloatFormat<T>::Bits;
  using BitsTag = hn::ScalableTag<Bits>;
  static constexpr int kTile = std::is_same_v<T, float> ? 1024 : 4096;
  static constexpr int kRunning = 4;
  static constexpr int kStored = exact::FloatFormat<T>::kPrecision - 1;
  static constexpr int kExponentMask = (1 << exact::FloatFormat<T>::kExponentBits) - 1;
  // A lane adds up kTile / kLanes elements, each an integer below 2^(precision + kWindow) in units
  // of the last place of the smallest.
  static constexpr int kWindow =
      53 - (kStored + 1) - (std::countr_zero(static_cast<unsigned>(kTile)) - kLanesLog2);
  static constexpr bool kAlwaysFits = kWindow >= kExponentMask - 2;

  // Of the last place of an element with this exponent field.
  static int ExponentOfLast(int field) { return field - 1 + exact::kLowestExponent<T>; }

  // Elements [0, kLanes) from `from` on.
  static HWY_INLINE V Load(const T* from) {
    const D d;
    const hn::Rebind<float, D> d32;
    V wide;
    if constexpr (std::is_same_v<T, float>) {
      wide = hn::PromoteTo(d, hn::LoadU(d32, from));
    } else if constexpr (std::is_same_v<T, Half>) {
#if HWY_NATIVE_FMA  // where there is an instruction that widens them, too
      const hn::Rebind<hwy::float16_t, D> d16;
      const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
      wide = hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d16, halves)));
#else  // Highway's own way makes numbers of infinities
      float lanes[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = Widen(from[lane]);
      wide = hn::PromoteTo(d, hn::LoadU(d32, lanes));
#endif
    } else {
      const hn::Rebind<std::uint16_t, D> d16;
      const hn::Rebind<std::uint32_t, D> bits32;
      const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
      const auto shifted = hn::ShiftLeft<16>(hn::PromoteTo(bits32, hn::LoadU(d16, bits)));
      wide = hn::PromoteTo(d, hn::BitCast(d32, shifted));
    }
    if constexpr (kOmitsNan) wide = hn::IfThenElse(hn::IsNaN(wide), hn::Set(d, -0.0), wide);
    return wide;
  }

  // Twice the bits of a magnitude; of a NaN that is left out, of zero.
  static HWY_INLINE hn::Vec<BitsTag> LoadMagnitude(const T* from) {
    const BitsTag d;
    const auto bits = hn::LoadU(d, reinterpret_cast<const Bits*>(from));
    const auto doubled = hn::Add(bits, bits);
    if constexpr (!kOmitsNan) return doubled;
    constexpr auto kInfinity = static_cast<Bits>(static_cast<Bits>(kExponentMask) << (kStored + 1));
    return hn::IfThenZeroElse(hn::Gt(doubled, hn::Set(d, kInfinity)), doubled);
  }

  static Exponents ExponentsOf(hn::Vec<BitsTag> largest, hn::Vec<BitsTag> smallest_less_one) {
    const BitsTag d;
    const auto high = static_cast<std::uint32_t>(Largest(d, largest));
    const auto low = static_cast<Bits>(Smallest(d, smallest_less_one) + 1);
    Exponents exponents;
    exponents.largest = std::max(static_cast<int>(high >> (kStored + 1)), 1);
    // All zeros: the sum of nothing wraps around to 0.
    exponents.smallest =
        low == 0 ? exponents.largest : std::max(static_cast<int>(low >> (kStored + 1)), 1);
    return exponents;
  }

  // Exactly kTile elements.
  std::uint32_t Add(const T* tile, std::int64_t* words) const {
    const D d;
    const BitsTag bits;
    constexpr int kBitsLanes = static_cast<int>(hn::MaxLanes(BitsTag()));
    V sums[kRunning];
    for (V& sum : sums) sum = hn::Set(d, -0.0);  // so that it is -0.0 only of nothing else
    auto largest = hn::Zero(bits);
    auto smallest_less_one = hn::Set(bits, static_cast<Bits>(~Bits{0}));
    constexpr int kStep = std::max(kRunning * kLanes, kBitsLanes);
    for (int i = 0; i < kTile; i += kStep) {
      if constexpr (!kAlwaysFits) {
        for (int v = 0; v < kStep; v += kBitsLanes) {
          const auto magnitude = LoadMagnitude(tile + i + v);
          largest = hn::Max(largest, magnitude);
          smallest_less_one = hn::Min(smallest_less_one, hn::Sub(magnitude, hn::Set(bits, 1)));
        }
      }
      for (int v = 0; v < kStep; v += kRunning * kLanes) {
        for (int r = 0; r < kRunning; ++r) {
          sums[r] = hn::Add(sums[r], Load(tile + i + v + r * kLanes));
        }
      }
    }
    const V sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    Exponents exponents{1, 1};
    if constexpr (kAlwaysFits) {
      // Nothing overflows float64: what is not finite was among the elements.
      if (!hn::AllTrue(d, hn::IsFinite(sum))) return AddSlowly<T, kOmitsNan>(tile, kTile, words);
    } else {
      exponents = ExponentsOf(largest, smallest_less_one);
      if (exponents.largest == kExponentMask) {
        return AddSlowly<T, kOmitsNan>(tile, kTile, words);
      }
      if (exponents.largest - exponents.smallest > kWindow) {
        const auto load = [tile](int i) { return Load(tile + i); };
        AddOnGrids<T>(load, kTile, ExponentOfLast(exponents.largest) + kStored + 1,
                      ExponentOfLast(exponents.smallest), words);
        return exact::kHasOtherThanNegativeZero;
      }
    }
    const int lowest = ExponentOfLast(std::max(exponents.largest - kWindow, 1));
    exact::AddAt(words, SumOfIntegers(hn::Mul(sum, hn::Set(d, PowerOfTwo(-lowest)))),
                 lowest - exact::DigitLayout<T, 1>::kUnit);
    return IsNegativeZero(sum) ? 0u : std::uint32_t{exact::kHasOtherThanNegativeZero};
  }
};

// f64, which leaves float64 no bits to spare: each addition is split into what reaches a grid that
// the largest element's exponent fixes, and the rest below it. The exponent is guessed from the
// tile before; the pass that adds tells whether the guess was right.
template <bool kOmitsNan>
class DoubleTile {
 public:
  static constexpr int kTile = 2048;

  std::uint32_t Add(const double* tile, std::int64_t* words) {
    if (guess_ == 0) guess_ = 1023;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const Sums sums = AddOnGrid(tile, guess_);
      if (!sums.is_finite) break;
      if (sums.largest == 0) return AddSlowly<double, kOmitsNan>(tile, kTile, words);  // signs
      const int largest = ExponentOf(sums.largest);
      const int smallest = std::min(largest, ExponentOf(sums.smallest));
      if (largest <= guess_ && smallest >= guess_ - kWindow) {
        Put(sums, guess_, words);
        if (largest < guess_ - 2 && largest >= kLowestGuess) guess_ = largest;
        return exact::kHasOtherThanNegativeZero;
      }
      if (largest - smallest > kWindow || largest < kLowestGuess || largest > kHighestGuess) {
        const auto load = [tile](int i) { return Load(tile + i); };
        constexpr int kUnit = exact::DigitLayout<double, 1>::kUnit;
        if (largest == 0x7ff || !AddOnGrids<double>(load, kTile, largest - 1 + kUnit + 53,
                                                    smallest - 1 + kUnit, words)) {
          break;
        }
        return exact::kHasOtherThanNegativeZero;
      }
      guess_ = largest;
    }
    return AddSlowly<double, kOmitsNan>(tile, kTile, words);
  }

 private:
  static constexpr int kRunning = 4;
  // log2 of the additions to a lane of a running sum.
  static constexpr int kDepth =
      std::countr_zero(static_cast<unsigned>(kTile / kRunning)) - kLanesLog2;
  static constexpr int kWindow = 52 - 2 * kDepth;
  // Where the grid's constants and scales are normal numbers.
  static constexpr int kLowestGuess = 130;
  static constexpr int kHighestGuess = 2000;

  struct Sums {
    V on_grid[kRunning];  // with the grid's anchor
    V below[kRunning];
    double largest;
    double smallest;  // but of zeros
    bool is_finite;
  };

  static HWY_INLINE V Load(const double* from) {
    const V x = hn::LoadU(D(), from);
    return kOmitsNan ? hn::IfThenElseZero(hn::Eq(x, x), x) : x;
  }

  static int ExponentOf(double magnitude) {
    return std::max(static_cast<int>(BitCast<std::uint64_t>(magnitude) >> 52), 1);
  }
  // The exponent of the grid's unit, so that the sums of a lane stay below half of the anchor.
  static int GridOf(int largest) { return largest - 1022 + kDepth - 51; }

  static Sums AddOnGrid(const double* tile, int guess) {
    const D d;
    const V anchor = hn::Set(d, 1.5 * PowerOfTwo(52 + GridOf(guess)));
    Sums sums;
    V largest[2] = {hn::Zero(d), hn::Zero(d)};
    V smallest[2] = {hn::Set(d, kInfinity<double>), hn::Set(d, kInfinity<double>)};
    for (int r = 0; r < kRunning; ++r) {
      sums.on_grid[r] = anchor;
      sums.below[r] = hn::Zero(d);
    }
    for (int i = 0; i < kTile; i += kRunning * kLanes) {
      for (int r = 0; r < kRunning; ++r) {
        const V x = Load(tile + i + r * kLanes);
        const V sum = hn::Add(sums.on_grid[r], x);
        const V rest = hn::Sub(x, hn::Sub(sum, sums.on_grid[r]));
        sums.below[r] = hn::Add(sums.below[r], rest);
        sums.on_grid[r] = sum;
        const V magnitude = hn::Abs(x);
        largest[r & 1] = hn::Max(magnitude, largest[r & 1]);
        const V nonzero =
            hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), smallest[r & 1], magnitude);
        smallest[r & 1] = hn::Min(nonzero, smallest[r & 1]);
      }
    }
    sums.largest = Largest(d, hn::Max(largest[0], largest[1]));
    sums.smallest = Smallest(d, hn::Min(smallest[0], smallest[1]));
    // A NaN or an infinity stays in the sums, whatever the maxima make of it.
    const V all = hn::Add(hn::Add(sums.on_grid[0], sums.on_grid[1]),
                          hn::Add(sums.on_grid[2], sums.on_grid[3]));
    sums.is_finite = hn::AllTrue(d, hn::IsFinite(all));
    return sums;
  }

  static void Put(const Sums& sums, int guess, std::int64_t* words) {
    const D d;
    constexpr int kUnit = exact::DigitLayout<double, 1>::kUnit;
    const int grid = GridOf(guess);
    const V anchor = hn::Set(d, 1.5 * PowerOfTwo(52 + grid));
    const V to_grid = hn::Set(d, PowerOfTwo(-grid));
    // The last place of the smallest element that the window admits.
    const int lowest = std::max(guess - kWindow, 1) - 1 + kUnit;
    const V to_lowest = hn::Set(d, PowerOfTwo(-lowest));
    std::int64_t on_grid = 0;
    std::int64_t below = 0;
    for (int r = 0; r < kRunning; ++r) {
      on_grid += SumOfIntegers(hn::Mul(hn::Sub(sums.on_grid[r], anchor), to_grid));
      below += SumOfIntegers(hn::Mul(sums.below[r], to_lowest));
    }
    exact::AddAt(words, on_grid, grid - kUnit);
    exact::AddAt(words, below, lowest - kUnit);
  }

  int guess_ = 0;
};

template <typename T, bool kOmitsNan>
struct ExactLoops {
  static std::uint32_t Add(const T* elements, std::int64_t count, std::int64_t* words) {
    using Tile = std::conditional_t<std::is_same_v<T, double>, DoubleTile<kOmitsNan>,
                                    NarrowTile<T, kOmitsNan>>;
    Tile tile;
    std::uint32_t specials = 0;
    std::int64_t i = 0;
    for (; i + Tile::kTile <= count; i += Tile::kTile) specials |= tile.Add(elements + i, words);
    if (i == count) return specials;
    T padded[Tile::kTile];
    std::copy(elements + i, elements + count, padded);
    std::fill(padded + (count - i), padded + Tile::kTile, RoundFromDouble<T>(-0.0));
    return specials | tile.Add(padded, words);
  }
};

template <typename T, bool kOmitsNan>
const ExactSumLoops<T, kOmitsNan>& ExactLoopsFor() {
  static constexpr ExactSumLoops<T, kOmitsNan> kLoops{&ExactLoops<T, kOmitsNan>::Add};
  return kLoops;
}

#define WARPFOLD_LOOP(T, name, omits_nan)                         \
  const ExactSumLoops<T, omits_nan>& ExactExactLoopsFor##name() { \
    return ExactLoopsFor<T, omits_nan>();                         \
  }
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITH_NAN)
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITHOUT_NAN)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_LOOP(T, name, omits_nan)                               \
  HWY_EXPORT(ExactExactLoopsFor##name);                                 \
  template <>                                                           \
  const ExactSumLoops<T, omits_nan>& GetExactSumLoops<T, omits_nan>() { \
    return HWY_DYNAMIC_DISPATCH(ExactExactLoopsFor##name)();            \
  }
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITH_NAN)
WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITHOUT_NAN)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
