// The exact sum of a tile of f64. Of Highway's kind: included once for each SIMD target, after
// foreach_target.h.
#if defined(WARPFOLD_KERNELS_CPU_EXACT_DOUBLE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WARPFOLD_KERNELS_CPU_EXACT_DOUBLE_TILE_INL_H_
#undef WARPFOLD_KERNELS_CPU_EXACT_DOUBLE_TILE_INL_H_
#else
#define WARPFOLD_KERNELS_CPU_EXACT_DOUBLE_TILE_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/cpu/exact_elements-inl.h"
#include "kernels/cpu/exact_grids-inl.h"
#include "kernels/cpu/exact_sums.h"
#include "kernels/dtypes/element.h"
#include "kernels/exact/state.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements below 2^-1021, which are their bits times 2^-1074: of them integers, as some processors
// take 100 cycles and more for a float64 operation on a subnormal number.
struct TinyTile {
  // low + high * 2^32.
  struct Sum {
    std::int64_t low = 0;
    std::int64_t high = 0;

    void AddTo(std::int64_t* words) const {
      static_assert(exact::DigitLayout<double, 1>::kUnit == -1074);
      exact::AddAt(words, low, 0);
      exact::AddAt(words, high, 32);
    }
  };
  Sum sum;
  Sum absolute_sum;
  std::uint64_t all = 0;  // the bits of their magnitudes

  TinyTile(const double* elements, int count) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    for (int i = 0; i < count; ++i) {
      const auto bits = BitCast<std::uint64_t>(elements[i]);
      const std::uint64_t magnitude = bits & ~kSign;
      all |= magnitude;
      const std::int64_t sign = -static_cast<std::int64_t>(bits >> 63);
      const auto low = static_cast<std::int64_t>(magnitude & 0xffffffff);
      const auto high = static_cast<std::int64_t>(magnitude >> 32);
      absolute_sum.low += low;
      absolute_sum.high += high;
      sum.low += (low ^ sign) - sign;
      sum.high += (high ^ sign) - sign;
    }
  }
  // And not nothing but zeros.
  bool are_all_tiny() const { return all != 0 && all >> 53 == 0; }
};

// Which tiles of a row are tiny. A whole one is looked at only if the tile before was, or if the
// first step of all is.
class TinyTiles {
 public:
  // The tile's sums, if all of it is tiny.
  std::optional<TinyTile> Take(const double* tile, int count, int step) {
    if (is_first_) are_tiny_ = TinyTile(tile, step).are_all_tiny();
    is_first_ = false;
    if (!are_tiny_) return std::nullopt;
    const TinyTile tiny(tile, count);
    are_tiny_ = tiny.are_all_tiny();
    if (!are_tiny_) return std::nullopt;
    return tiny;
  }
  // Of a tile that was not taken.
  void NoteLargest(double largest) { are_tiny_ = largest != 0 && largest < 0x1p-1021; }

 private:
  bool is_first_ = true;
  bool are_tiny_ = false;  // the elements of the tile before
};

// f64, which leaves float64 no bits to spare: each addition is split into what reaches a grid that
// the largest element's exponent fixes, and the rest below it. The exponent is guessed from the
// first elements, then from the tile before; the pass that adds tells whether the guess was right.
template <bool kOmitsNan>
class DoubleTile {
 public:
  static constexpr int kTile = 2048;
  static constexpr int kRunning = 4;
  static constexpr int kStep = kRunning * kLanes;
  // What a tile of two operations for each byte asks of memory comes too late without being asked
  // for a tile ahead: 256 MiB took 14.1 ms, and 8.4 with this and four streams (one core of an
  // EPYC, Zen 4, 2026-11-27).
  static constexpr int kAhead = kTile;

  // `count` elements, whole steps and at most kTile.
  std::uint32_t Add(const double* tile, int count, const ExactWords& words) {
    if (const auto tiny = tiny_.Take(tile, count, kStep)) {
      tiny->sum.AddTo(words.sum);
      return exact::kHasOtherThanNegativeZero;
    }
    const std::uint32_t specials = AddAny(tile, count, words);
    tiny_.NoteLargest(largest_);
    return specials;
  }

  // The same, also of tiny ones, which take long.
  std::uint32_t AddAny(const double* tile, int count, const ExactWords& words) {
    if (guess_ == 0) guess_ = FirstGuess(tile);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const Sums sums = AddOnGrid(tile, count, guess_);
      largest_ = sums.largest;
      smallest_ = sums.smallest;
      if (!sums.is_finite) break;
      if (sums.largest == 0) return AddSlowly<double, kOmitsNan>(tile, count, words);  // signs
      const int largest = ExponentOf(sums.largest);
      const int smallest = std::min(largest, ExponentOf(sums.smallest));
      if (largest <= guess_ && smallest >= guess_ - kWindow) {
        Put(sums, guess_, words.sum);
        if (largest < guess_ - 2 && largest >= kLowestGuess) guess_ = largest;
        return exact::kHasOtherThanNegativeZero;
      }
      if (largest - smallest > kWindow || largest < kLowestGuess || largest > kHighestGuess) {
        const auto load = [tile](int i) { return LoadDoubles<kOmitsNan>(tile + i); };
        constexpr int kUnit = exact::DigitLayout<double, 1>::kUnit;
        if (largest == 0x7ff || !AddOnGrids(load, count, largest - 1 + kUnit + 53,
                                            smallest - 1 + kUnit, kUnit, words.sum)) {
          break;
        }
        return exact::kHasOtherThanNegativeZero;
      }
      guess_ = largest;
    }
    return AddSlowly<double, kOmitsNan>(tile, count, words);
  }

  // The sizes of the elements that AddAny had last, if all were finite: the largest, and the
  // smallest that is not zero.
  double largest() const { return largest_; }
  double smallest() const { return smallest_; }

 private:
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

    Sums() = default;  // one that is not written has no right to the target's instructions
  };

  // The exponent of the grid's unit, so that the sums of a lane stay below half of the anchor.
  static int GridOf(int largest) { return largest - 1022 + kDepth - 51; }

  // Two binades above the first elements: of many, some are larger.
  static int FirstGuess(const double* tile) {
    const D d;
    V largest = hn::Zero(d);
    for (int i = 0; i < kStep; i += kLanes) {
      largest = hn::Max(largest, hn::Abs(LoadDoubles<kOmitsNan>(tile + i)));
    }
    return std::clamp(ExponentOf(Largest(d, largest)) + 2, kLowestGuess, kHighestGuess);
  }

  // By as many streams as there are running sums.
  static Sums AddOnGrid(const double* tile, int count, int guess) {
    const D d;
    const V anchor = hn::Set(d, 1.5 * PowerOfTwo(52 + GridOf(guess)));
    V on_grid[kRunning], below[kRunning];  // not the result's, which would be in memory
    V largest[2] = {hn::Zero(d), hn::Zero(d)};
    V smallest[2] = {hn::Set(d, kInfinity<double>), hn::Set(d, kInfinity<double>)};
    for (int r = 0; r < kRunning; ++r) {
      on_grid[r] = anchor;
      below[r] = hn::Zero(d);
    }
    const int stream = count / kRunning;
    for (int i = 0; i < stream; i += kLanes) {
      for (int r = 0; r < kRunning; ++r) {
        hwy::Prefetch(tile + r * stream + i + kAhead);
        const V x = LoadDoubles<kOmitsNan>(tile + r * stream + i);
        const V sum = hn::Add(on_grid[r], x);
        below[r] = hn::Add(below[r], SubByProduct(x, hn::Sub(sum, on_grid[r])));
        on_grid[r] = sum;
        const V magnitude = hn::Abs(x);
        largest[r & 1] = hn::Max(magnitude, largest[r & 1]);
        const V nonzero =
            hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), smallest[r & 1], magnitude);
        smallest[r & 1] = hn::Min(nonzero, smallest[r & 1]);
      }
    }
    Sums sums;
    for (int r = 0; r < kRunning; ++r) {
      sums.on_grid[r] = on_grid[r];
      sums.below[r] = below[r];
    }
    sums.largest = Largest(d, hn::Max(largest[0], largest[1]));
    sums.smallest = Smallest(d, hn::Min(smallest[0], smallest[1]));
    // A NaN or an infinity stays in the sums, whatever the maxima make of it.
    const V all = hn::Add(hn::Add(on_grid[0], on_grid[1]), hn::Add(on_grid[2], on_grid[3]));
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
  double largest_ = 0;
  double smallest_ = 0;
  TinyTiles tiny_;
};

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WARPFOLD_KERNELS_CPU_EXACT_DOUBLE_TILE_INL_H_
