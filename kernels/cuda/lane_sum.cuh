// The exact sum of the elements that a lane sees, a tile at a time.
//
// Where the exponents of a warp's tile lie in the warp's window, no float64 addition of them
// rounds: a lane adds its elements as they are, and the total, which is an integer in units of the
// window's lowest place, to 64 bits of its own. Two integer instructions an element find that out,
// and one vote a tile. A window moves with the data; what none holds is added by other means, and
// nobody sees by which.
#ifndef WARPFOLD_KERNELS_CUDA_LANE_SUM_CUH_
#define WARPFOLD_KERNELS_CUDA_LANE_SUM_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/lane_digits.cuh"
#include "kernels/cuda/lane_tile.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/element.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/state.h"

namespace warpfold::cuda {

__device__ __forceinline__ double PowerOfTwo(int exponent) {  // of a normal number
  return __hiloint2double((1023 + exponent) << 20, 0);
}

// 1.5 * 2^exponent: numbers added to it, as long as they stay below a third of it, are rounded to
// multiples of 2^(exponent - 52), and its bits less those it had at the start are their sum.
__device__ __forceinline__ double Anchor(int exponent) {
  return __hiloint2double((1023 + exponent) << 20 | 0x80000, 0);
}

__device__ __forceinline__ std::int64_t BitsOf(double x) { return __double_as_longlong(x); }

__device__ __forceinline__ bool IsNegativeZero(double x) {
  return BitsOf(x) == static_cast<std::int64_t>(std::uint64_t{1} << 63);
}

// How many tiles in a row are taken for wide once one is: wide data seldom are so for one tile.
inline constexpr int kWideTiles = 16;
// Tiles whose totals an integer of a lane takes, each below 2^53.
inline constexpr int kTilesPerInteger = 256;

// What all kinds of lane sums share: where their totals go, and what digits cannot show.
template <typename T>
class LaneSumBase {
 public:
  __device__ explicit LaneSumBase(const WarpDigits& digits) : digits_(digits) {}

  __device__ std::uint32_t specials() const { return specials_; }

 protected:
  // A NaN or an infinity is somewhere in the warp's tile: what else is in it does not matter. Once
  // it is a NaN, nothing does.
  template <class Tile>
  __device__ __forceinline__ void AddNotFinite(const Tile& tile) {
    specials_ |= exact::kHasOtherThanNegativeZero;
#pragma unroll
    for (const uint4& vector : tile.rows) specials_ |= NotFiniteOf(vector);
    is_nan_ = __any_sync(kFullWarp, (specials_ & exact::kHasNan) != 0);
  }
  // `sum`: what float64 makes of a lane's elements, from -0.0 on, which is -0.0 of nothing else.
  __device__ __forceinline__ void NoteSign(double sum) {
    if (!IsNegativeZero(sum)) specials_ |= exact::kHasOtherThanNegativeZero;
  }

  const WarpDigits digits_;
  std::uint32_t specials_ = 0;
  bool is_nan_ = false;

 private:
  // Out of line, as it is rare, and what it needs would take registers from what is not.
  __device__ static __noinline__ std::uint32_t NotFiniteOf(uint4 vector) {
    T elements[sizeof(uint4) / sizeof(T)];
    memcpy(elements, &vector, sizeof(uint4));
    std::uint32_t specials = 0;
#pragma unroll
    for (const T x : elements) {
      if (IsNan(x)) specials |= exact::kHasNan;
      if (IsInf(x)) {
        specials |= Widen(x) < 0 ? exact::kHasNegativeInfinity : exact::kHasPositiveInfinity;
      }
    }
    return specials;
  }
};

// f16: every sum of a tile is exact.
template <typename T, int kRows>
class LaneSum : public LaneSumBase<T> {
 public:
  static_assert(std::is_same_v<T, Half>);
  using Tile = LaneTile<T, kRows>;
  static constexpr int kThreadBytes = 0;  // of shared memory

  __device__ LaneSum(const WarpDigits& digits, void*, int, int) : LaneSumBase<T>(digits) {}

  __device__ __forceinline__ void Add(const Tile& tile) {
    if (this->is_nan_) return;
    std::uint32_t largest = 0;  // of both halves of a word
    double sums[2] = {-0.0, -0.0};
    tile.ForEachWord([&](std::uint32_t word) { largest = __vmaxu2(largest, word & 0x7fff7fff); });
    tile.ForEach([&](T x, int i) { sums[i % 2] = __dadd_rn(sums[i % 2], WidenToDouble(x)); });
    constexpr std::uint32_t kInfinity = 0x7c00;
    const bool is_finite = (largest & 0xffff) < kInfinity && largest >> 16 < kInfinity;
    if (!__all_sync(kFullWarp, is_finite)) {
      this->AddNotFinite(tile);
      return;
    }
    const double sum = __dadd_rn(sums[0], sums[1]);
    this->NoteSign(sum);
    total_ += __double2ll_rn(sum * 0x1p24);
  }

  __device__ void Close() { this->digits_.Add(total_, 0); }

 private:
  std::int64_t total_ = 0;
};

// f32 and bf16.
template <typename T, int kRows>
class WindowSum : public LaneSumBase<T> {
 public:
  using Tile = LaneTile<T, kRows>;
  static constexpr int kThreadBytes = LaneDigits<T>::kThreadBytes;

  __device__ WindowSum(const WarpDigits& digits, void* words, int thread, int threads)
      : LaneSumBase<T>(digits), wide_(words, thread, threads) {}

  __device__ __forceinline__ void Add(const Tile& tile) {
    if (this->is_nan_) return;
    if (wide_tiles_ > 0) {
      --wide_tiles_;
      AddWide(tile);
      return;
    }
    std::uint32_t largest = 0;
    std::uint32_t smallest_less_one = ~0u;  // of those that are not zero
    double sums[2] = {-0.0, -0.0};
    tile.ForEach([&](T x, int i) {
      const std::uint32_t magnitude = BitCast<std::uint32_t>(Widen(x)) << 1;
      largest = max(largest, magnitude);
      smallest_less_one = min(smallest_less_one, magnitude - 1);
      sums[i % 2] = __dadd_rn(sums[i % 2], static_cast<double>(Widen(x)));
    });
    const double sum = __dadd_rn(sums[0], sums[1]);
    this->NoteSign(sum);
    if (!__all_sync(kFullWarp, largest < end_ && smallest_less_one >= first_)) {
      if (!MoveWindow(tile, largest, smallest_less_one)) return;
    }
    total_ += __double2ll_rn(sum * to_units_);
    if (++tiles_ == kTilesPerInteger) Spill();
  }

  __device__ void Close() {
    if (tiles_ > 0) Spill();
    wide_.MoveTo(this->digits_);
  }

 private:
  static constexpr int kInfinityField = 255;
  // Of 53 bits an element takes its precision, and a lane's elements of a tile their count.
  static constexpr int kCountLog2 = 31 - __builtin_clz(Tile::kLaneElements);
  static constexpr int kWindow = 53 - exact::FloatFormat<T>::kPrecision - kCountLog2;
  static_assert(1 << kCountLog2 == Tile::kLaneElements);
  // bf16 is counted in f32's units.
  static constexpr int kMoreBits = 24 - exact::FloatFormat<T>::kPrecision;

  __device__ __forceinline__ void AddWide(const Tile& tile) {
    this->specials_ |= exact::kHasOtherThanNegativeZero;
#pragma unroll
    for (const uint4& vector : tile.rows) wide_.Add(vector);
    if (++tiles_since_move_ < LaneDigits<T>::kElementsMax / Tile::kLaneElements) return;
    tiles_since_move_ = 0;
    wide_.MoveTo(this->digits_);
  }

  // False if the tile has been added, or adds nothing.
  __device__ __forceinline__ bool MoveWindow(const Tile& tile, std::uint32_t largest,
                                             std::uint32_t smallest_less_one) {
    largest = MaxOverWarp(largest);
    smallest_less_one = MinOverWarp(smallest_less_one);
    const int high = max(static_cast<int>(largest >> 24), 1);
    const int low = max(static_cast<int>((smallest_less_one + 1) >> 24), 1);
    if (high == kInfinityField) {
      this->AddNotFinite(tile);
      return false;
    }
    if (largest == 0) return false;  // zeros alone
    if (high - low > kWindow) {
      wide_tiles_ = kWideTiles;
      AddWide(tile);
      return false;
    }
    if (tiles_ > 0) Spill();
    // A little above the tile's largest, as the next one's may be larger.
    constexpr int kAbove = 2;
    lowest_ = max(min(low, high - kWindow + kAbove), 1);
    end_ = static_cast<std::uint32_t>(min(lowest_ + kWindow + 1, kInfinityField)) << 24;
    first_ = lowest_ == 1 ? 0 : (static_cast<std::uint32_t>(lowest_) << 24) - 1;
    to_units_ = PowerOfTwo(150 - lowest_ - kMoreBits);
    return true;
  }

  __device__ __forceinline__ void Spill() {
    this->digits_.Add(total_, lowest_ - 1 + kMoreBits);
    total_ = 0;
    tiles_ = 0;
  }

  LaneDigits<T> wide_;
  std::int64_t total_ = 0;
  double to_units_ = 0;
  std::uint32_t end_ = 0;  // no window yet
  std::uint32_t first_ = 0;
  int lowest_ = 0;  // exponent field
  int tiles_ = 0;
  int wide_tiles_ = 0;        // to come
  int tiles_since_move_ = 0;  // wide ones
};
template <int kRows>
class LaneSum<float, kRows> : public WindowSum<float, kRows> {
 public:
  using WindowSum<float, kRows>::WindowSum;
};
template <int kRows>
class LaneSum<BFloat16, kRows> : public WindowSum<BFloat16, kRows> {
 public:
  using WindowSum<BFloat16, kRows>::WindowSum;
};

// f64: what of each element reaches a place 51 - kCountLog2 below the largest, and the rest.
template <int kRows>
class LaneSum<double, kRows> : public LaneSumBase<double> {
 public:
  using Tile = LaneTile<double, kRows>;
  static constexpr int kThreadBytes = 0;  // of shared memory

  __device__ LaneSum(const WarpDigits& digits, void*, int, int) : LaneSumBase<double>(digits) {}

  __device__ __forceinline__ void Add(const Tile& tile) {
    if (is_nan_) return;
    std::uint32_t largest = 0;  // by the high words
    std::uint32_t smallest = ~0u;
    tile.ForEach([&](double x, int) {
      const std::uint32_t magnitude = MagnitudeOf(x);
      largest = max(largest, magnitude);
      smallest = min(smallest, (magnitude | __double2loint(x)) != 0 ? magnitude : ~0u);
    });
    if (largest != 0) {
      specials_ |= exact::kHasOtherThanNegativeZero;
    } else if ((specials_ & exact::kHasOtherThanNegativeZero) == 0) {
      tile.ForEach([&](double x, int) { NoteSign(x); });
    }
    if (!__all_sync(kFullWarp, largest < end_ && smallest >= first_)) {
      if (!MoveWindow(tile, largest, smallest)) return;
    }
    double high = high_anchor_;
    double low = low_anchor_;
    tile.ForEach([&](double x, int) {
      const double sum = __dadd_rn(high, x);
      const double taken = __dadd_rn(sum, -high);
      high = sum;
      low = __dadd_rn(low, __dadd_rn(x, -taken));
    });
    high_total_ += BitsOf(high) - BitsOf(high_anchor_);
    low_total_ += BitsOf(low) - BitsOf(low_anchor_);
    if (++tiles_ == kTilesPerInteger) Spill();
  }

  __device__ void Close() {
    if (tiles_ > 0) Spill();
  }

 private:
  static constexpr int kInfinityField = 2047;
  static constexpr int kCountLog2 = 31 - __builtin_clz(Tile::kLaneElements);
  static constexpr int kWindow = 50 - 2 * kCountLog2;
  // Where all of a window's constants are normal numbers.
  static constexpr int kFieldMin = 200;
  static constexpr int kFieldMax = 1900;
  static constexpr int kShift = 512;
  static constexpr int kUnit = exact::DigitLayout<double, 1>::kUnit;

  // Twice the high word, without the sign.
  __device__ static std::uint32_t MagnitudeOf(double x) {
    return static_cast<std::uint32_t>(__double2hiint(x)) << 1;
  }

  // False if the tile has been added, or adds nothing.
  __device__ __forceinline__ bool MoveWindow(const Tile& tile, std::uint32_t largest,
                                             std::uint32_t smallest) {
    largest = MaxOverWarp(largest);
    smallest = MinOverWarp(smallest);
    if (smallest == ~0u) return false;  // zeros alone
    const int top = static_cast<int>(largest >> 21);
    const int bottom = static_cast<int>(smallest >> 21);
    if (top == kInfinityField) {
      AddNotFinite(tile);
      return false;
    }
    if (top - bottom >= kWindow || top < kFieldMin || top > kFieldMax) {
      AddWide(tile, top);
      return false;
    }
    if (tiles_ > 0) Spill();
    // One above the tile's largest, as the next one's may be larger.
    const int field = top + 1;
    end_ = static_cast<std::uint32_t>(field + 1) << 21;
    first_ = static_cast<std::uint32_t>(field - kWindow) << 21;
    // |x| < 2^(field - 1022).
    const int high_exponent = field - 1022 + kCountLog2 + 1;
    const int low_exponent = high_exponent - 52 + kCountLog2;
    high_anchor_ = Anchor(high_exponent);
    low_anchor_ = Anchor(low_exponent);
    high_bit_ = high_exponent - 52 - kUnit;
    low_bit_ = low_exponent - 52 - kUnit;
    return true;
  }

  // Any finite tile, whose largest exponent field is `field`: of each element what reaches a grid,
  // on finer and finer ones as long as anything is left.
  __device__ __forceinline__ void AddWide(const Tile& tile, int field) {
    double rest[Tile::kLaneElements];
    tile.ForEach([&](double x, int i) { rest[i] = x; });
    int shift = 0;
#pragma unroll 1
    do {
      if (field < kFieldMin && shift == 0) {
        // Where grids would vanish, all that is left is moved up.
        shift = kShift;
        std::uint32_t largest = 0;
#pragma unroll
        for (double& x : rest) {
          x *= PowerOfTwo(kShift);
          largest = max(largest, MagnitudeOf(x));
        }
        field = static_cast<int>(MaxOverWarp(largest) >> 21);
      }
      field = field > kFieldMax ? AddOnGrid<true>(rest, field, shift)
                                : AddOnGrid<false>(rest, field, shift);
    } while (field >= 0);
  }

  // Leaves what does not reach the grid of the largest exponent field, and returns the field of
  // that, -1 of nothing. kIsHuge: where the grid would overflow, elements are moved down for a
  // while, but for those that would vanish, which do not reach it.
  template <bool kIsHuge>
  __device__ __forceinline__ int AddOnGrid(double (&rest)[Tile::kLaneElements], int field,
                                           int shift) {
    constexpr int kDown = kIsHuge ? kShift : 0;
    const int exponent = field - kDown - 1022 + kCountLog2 + 1;
    const double anchor = Anchor(exponent);
    double sum = anchor;
    std::uint32_t largest = 0;
    std::uint32_t bits = 0;
#pragma unroll
    for (double& x : rest) {
      double left = x;
      if (kIsHuge) left = MagnitudeOf(x) >> 21 > kDown ? x * PowerOfTwo(-kDown) : 0;
      const double next = __dadd_rn(sum, left);
      left = __dadd_rn(left, -__dadd_rn(next, -sum));
      sum = next;
      if (kIsHuge) left = MagnitudeOf(x) >> 21 > kDown ? left * PowerOfTwo(kDown) : x;
      x = left;
      largest = max(largest, MagnitudeOf(x));
      bits |= MagnitudeOf(x) | static_cast<std::uint32_t>(__double2loint(x));
    }
    digits_.Add(BitsOf(sum) - BitsOf(anchor), exponent - 52 + kDown - shift - kUnit);
    if (!__any_sync(kFullWarp, bits != 0)) return -1;
    return static_cast<int>(MaxOverWarp(largest) >> 21);
  }

  __device__ __forceinline__ void Spill() {
    digits_.Add(high_total_, high_bit_);
    digits_.Add(low_total_, low_bit_);
    high_total_ = 0;
    low_total_ = 0;
    tiles_ = 0;
  }

  std::int64_t high_total_ = 0;
  std::int64_t low_total_ = 0;
  double high_anchor_ = 0;
  double low_anchor_ = 0;
  std::uint32_t end_ = 0;  // no window yet
  std::uint32_t first_ = 0;
  int high_bit_ = 0;
  int low_bit_ = 0;
  int tiles_ = 0;
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_SUM_CUH_
