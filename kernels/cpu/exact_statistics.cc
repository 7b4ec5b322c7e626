// The sums of elements, of their absolute values and of their squares, in one go.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/exact_sums.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/state.h"

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/exact_statistics.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "kernels/cpu/error_free-inl.h"
#include "kernels/cpu/exact_double_tile-inl.h"
#include "kernels/cpu/exact_elements-inl.h"
#include "kernels/cpu/exact_grids-inl.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f32, bf16 and f16, whose squares are float64 numbers. A window for the sums; of a square what
// reaches a grid and, below it, the rest.
template <typename T, bool kOmitsNan>
struct NarrowStatistics : NarrowElements<T, kOmitsNan> {
  using N = NarrowElements<T, kOmitsNan>;
  static constexpr int kTile = 1024;
  static constexpr int kRunning = 2;
  // log2 of the additions to a lane of a running sum.
  static constexpr int kDepth =
      std::countr_zero(static_cast<unsigned>(kTile / kRunning)) - kLanesLog2;
  // Both running sums together, of numbers below 2^(precision + window), have 53 bits; the rests of
  // squares, below half a grid of 51 - kDepth bits under the largest square, too.
  static constexpr int kWindow =
      std::min(53 - N::kPrecision - kDepth - 1, (105 - 2 * kDepth) / 2 - N::kPrecision);
  static constexpr bool kAlwaysFits = kWindow >= N::kExponentMask - 2;
  static constexpr int kUnit = exact::DigitLayout<T, 1>::kUnit;

  // Of a scan, and of grids.
  static constexpr int kStep =
      std::max(2 * static_cast<int>(hn::MaxLanes(typename N::BitsTag())), 4 * kLanes);

  // `count` elements, whole steps and at most kTile.
  std::uint32_t Add(const T* tile, int count, const ExactWords& words) const {
    Exponents exponents{N::kExponentMask - 1, 1};
    if constexpr (!kAlwaysFits) exponents = N::Scan(tile, count);
    if (exponents.largest == N::kExponentMask) return AddSlowly<T, kOmitsNan>(tile, count, words);
    const int top = N::ExponentOfLast(exponents.largest) + N::kPrecision;
    if (exponents.largest - exponents.smallest > (kAlwaysFits ? N::kExponentMask : kWindow)) {
      AddWide(tile, count, top, N::ExponentOfLast(exponents.smallest), words);
      return exact::kHasOtherThanNegativeZero;
    }
    const D d;
    const int grid = 2 * top + kDepth - 51;
    const V anchor = hn::Set(d, 1.5 * PowerOfTwo(52 + grid));
    V sums[kRunning], absolute_sums[kRunning], on_grid[kRunning], below[kRunning];
    for (int r = 0; r < kRunning; ++r) {
      sums[r] = hn::Set(d, -0.0);
      absolute_sums[r] = hn::Zero(d);
      on_grid[r] = anchor;
      below[r] = hn::Zero(d);
    }
    for (int i = 0; i < count; i += kRunning * kLanes) {
      for (int r = 0; r < kRunning; ++r) {
        const V x = N::Load(tile + i + r * kLanes);
        sums[r] = hn::Add(sums[r], x);
        absolute_sums[r] = hn::Add(absolute_sums[r], hn::Abs(x));
        // The square is exact: fused or not, these two round alike.
        const V sum = hn::MulAdd(x, x, on_grid[r]);
        below[r] = hn::Add(below[r], hn::MulSub(x, x, hn::Sub(sum, on_grid[r])));
        on_grid[r] = sum;
      }
    }
    const V sum = hn::Add(sums[0], sums[1]);
    if constexpr (kAlwaysFits) {
      // Nothing overflows float64: what is not finite was among the elements.
      if (!hn::AllTrue(d, hn::IsFinite(sum))) return AddSlowly<T, kOmitsNan>(tile, count, words);
    }
    const int lowest =
        N::ExponentOfLast(kAlwaysFits ? 1 : std::max(exponents.largest - kWindow, 1));
    const V to_lowest = hn::Set(d, PowerOfTwo(-lowest));
    exact::AddAt(words.sum, SumOfIntegers(hn::Mul(sum, to_lowest)), lowest - kUnit);
    const V absolute_sum = hn::Add(absolute_sums[0], absolute_sums[1]);
    exact::AddAt(words.absolute_sum, SumOfIntegers(hn::Mul(absolute_sum, to_lowest)),
                 lowest - kUnit);
    const V to_grid = hn::Set(d, PowerOfTwo(-grid));
    const V to_squares = hn::Set(d, PowerOfTwo(-2 * lowest));
    std::int64_t on_grid_total = 0;
    std::int64_t below_total = 0;
    for (int r = 0; r < kRunning; ++r) {
      on_grid_total += SumOfIntegers(hn::Mul(hn::Sub(on_grid[r], anchor), to_grid));
      below_total += SumOfIntegers(hn::Mul(below[r], to_squares));
    }
    // A grid finer than the squares' own unit has zeros there.
    if (grid < 2 * kUnit) {
      exact::AddAt(words.squares, on_grid_total >> (2 * kUnit - grid), 0);
    } else {
      exact::AddAt(words.squares, on_grid_total, grid - 2 * kUnit);
    }
    exact::AddAt(words.squares, below_total, 2 * (lowest - kUnit));
    return IsNegativeZero(sum) ? 0u : std::uint32_t{exact::kHasOtherThanNegativeZero};
  }

 private:
  static HWY_NOINLINE void AddWide(const T* tile, int count, int top, int lowest,
                                   const ExactWords& words) {
    const auto load = [tile](int i) { return N::Load(tile + i); };
    const auto load_absolute = [&](int i) { return hn::Abs(load(i)); };
    const auto load_square = [&](int i) {
      const V x = load(i);
      return hn::Mul(x, x);
    };
    AddOnGrids(load, count, top, lowest, kUnit, words.sum);
    AddOnGrids(load_absolute, count, top, lowest, kUnit, words.absolute_sum);
    AddOnGrids(load_square, count, 2 * top, 2 * lowest, 2 * kUnit, words.squares);
  }
};

// f64: the sum by its own tile; all else by grids, in three classes of elements of which each is
// scaled to where no square overflows or loses bits.
template <bool kOmitsNan>
class DoubleStatistics {
 public:
  static constexpr int kTile = DoubleTile<kOmitsNan>::kTile;
  static constexpr int kStep = DoubleTile<kOmitsNan>::kStep;

  // `count` elements, whole steps and at most kTile.
  std::uint32_t Add(const double* tile, int count, const ExactWords& words) {
    if (const auto tiny = tiny_.Take(tile, count, kStep)) {
      AddTiny(tile, count, *tiny, words);
      return exact::kHasOtherThanNegativeZero;
    }
    const std::uint32_t specials = sum_.AddAny(tile, count, {.sum = words.sum});
    const double greatest = sum_.largest();
    const double least = sum_.smallest();
    if ((specials & exact::kNotFinite) != 0 || greatest == 0) return specials;
    tiny_.NoteLargest(greatest);
    if (least >= kSmall && greatest < kLarge) {
      AddClass<0, false>(tile, count, least, greatest, words);
    } else {
      if (least < kSmall) {
        AddClass<kShift, true>(tile, count, least, std::min(greatest, kSmall), words);
      }
      if (greatest >= kSmall && least < kLarge) {
        AddClass<0, true>(tile, count, std::max(least, kSmall), std::min(greatest, kLarge), words);
      }
      if (greatest >= kLarge) {
        AddClass<-kShift, true>(tile, count, std::max(least, kLarge), greatest, words);
      }
    }
    return specials;
  }

 private:
  static constexpr double kSmall = 0x1p-340;
  static constexpr double kLarge = 0x1p+340;
  static constexpr int kShift = 680;  // of small elements, up
  static constexpr int kUnit = exact::DigitLayout<double, 1>::kUnit;

  // Elements of `least` to `greatest`, which kMasked tells from others, scaled by 2^kScale.
  template <int kScale, bool kMasked>
  static HWY_NOINLINE void AddClass(const double* tile, int count, double least, double greatest,
                                    const ExactWords& words) {
    const D d;
    const auto load = [&](int i) {
      V x = hn::Abs(LoadDoubles<kOmitsNan>(tile + i));
      if constexpr (kMasked) {
        const auto is_in =
            kScale > 0   ? hn::Lt(x, hn::Set(d, kSmall))
            : kScale < 0 ? hn::Ge(x, hn::Set(d, kLarge))
                         : hn::And(hn::Ge(x, hn::Set(d, kSmall)), hn::Lt(x, hn::Set(d, kLarge)));
        x = hn::IfThenElseZero(is_in, x);
      }
      return kScale == 0 ? x : hn::Mul(x, hn::Set(d, PowerOfTwo(kScale)));
    };
    const int top = ExponentOf(greatest) + kUnit + 52 + 1 + kScale;
    const int lowest = ExponentOf(least) - 1 + kUnit + kScale;
    AddOnGrids(load, count, top, lowest, kUnit + kScale, words.absolute_sum);
    AddSquares(load, count, top, lowest, kUnit + kScale, words);
  }

  static HWY_NOINLINE void AddTiny(const double* tile, int count, const TinyTile& tiny,
                                   const ExactWords& words) {
    tiny.sum.AddTo(words.sum);
    tiny.absolute_sum.AddTo(words.absolute_sum);
    // As multiples of 1, not of 2^kUnit.
    const auto load = [&](int i) {
      const hn::RebindToSigned<D> integers;
      const auto bits = hn::LoadU(integers, reinterpret_cast<const std::int64_t*>(tile + i));
      const auto size = hn::And(bits, hn::Set(integers, ~(std::int64_t{1} << 63)));
      return hn::ConvertTo(D(), size);
    };
    AddSquares(load, count, std::bit_width(tiny.all), 0, 0, words);
  }

  // The squares of numbers below 2^top, multiples of 2^lowest. The words are in units of 2^(2
  // unit).
  template <class Load>
  static HWY_INLINE void AddSquares(const Load& load, int count, int top, int lowest, int unit,
                                    const ExactWords& words) {
    AddOnGrids([&](int i) { return SquareOf(load(i)).product; }, count, 2 * top, 2 * lowest,
               2 * unit, words.squares);
    AddOnGrids([&](int i) { return SquareOf(load(i)).rest; }, count, 2 * top - 53, 2 * lowest,
               2 * unit, words.squares);
  }

  TinyTiles tiny_;
  DoubleTile<kOmitsNan> sum_;
};

const ExactSumLoopTable& AllExactStatisticsLoops() {
  static constexpr auto kLoops =
      ExactSumLoopTable::Of([]<typename T, bool kOmitsNan>(TypeTag<ExactSumLoop<T, kOmitsNan>>) {
        using Tile = std::conditional_t<std::is_same_v<T, double>, DoubleStatistics<kOmitsNan>,
                                        NarrowStatistics<T, kOmitsNan>>;
        return &AddTiles<Tile, T>;
      });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllExactStatisticsLoops);
const ExactSumLoopTable& GetExactStatisticsLoops() {
  return HWY_DYNAMIC_DISPATCH(AllExactStatisticsLoops)();
}

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
