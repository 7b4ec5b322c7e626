// The exact sum of f64 elements that a lane sees, a tile at a time.
//
// Of each element two float64 sums take what reaches a place 51 - kCountLog2 below the largest, and
// the rest. Where the exponents of a warp's tile lie in the warp's window no addition rounds, and
// the bits of the sums are their totals, as integers. What no window holds is added as digits,
// which are integers. So is all there is where float64 additions are slow.
#ifndef WARPFOLD_KERNELS_CUDA_DOUBLE_WINDOW_SUM_CUH_
#define WARPFOLD_KERNELS_CUDA_DOUBLE_WINDOW_SUM_CUH_

#include <cstdint>

#include "kernels/cuda/double_digits.cuh"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/lane_sum_base.cuh"
#include "kernels/cuda/lane_tile.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/exact/state.h"

namespace warpfold::cuda {

// 1.5 * 2^exponent: numbers added to it, as long as they stay below a third of it, are rounded to
// multiples of 2^(exponent - 52), and its bits less those it had at the start are their sum.
__device__ __forceinline__ double Anchor(int exponent) {
  return __hiloint2double((1023 + exponent) << 20 | 0x80000, 0);
}

template <int kRows, int kThreads>
class DoubleWindowSum : public LaneSumBase<double> {
 public:
  using Tile = LaneTile<double, kRows>;
  static constexpr int kBlockBytes = DoubleDigits<kThreads>::kBlockBytes;

  __device__ DoubleWindowSum(const WarpDigits& digits, void* words, int thread)
      : LaneSumBase<double>(digits), wide_(words, thread) {}

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
    high_total_ += __double_as_longlong(high) - __double_as_longlong(high_anchor_);
    low_total_ += __double_as_longlong(low) - __double_as_longlong(low_anchor_);
    if (++tiles_ == kTilesPerInteger) Spill();
  }

  __device__ void Close() {
    if (tiles_ > 0) Spill();
    wide_.MoveTo(digits_);
  }

 private:
  static constexpr int kInfinityField = 2047;
  static constexpr int kCountLog2 = 31 - __builtin_clz(Tile::kLaneElements);
  static constexpr int kWindow = 50 - 2 * kCountLog2;
  // Where all of a window's constants are normal numbers.
  static constexpr int kFieldMin = 200;
  static constexpr int kFieldMax = 1900;
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
    if (!kIsFloat64Fast || top - bottom >= kWindow || top < kFieldMin || top > kFieldMax) {
      wide_.Add(tile.rows, max(bottom, 1), max(top, 1), digits_);
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

  __device__ __forceinline__ void Spill() {
    digits_.Add(high_total_, high_bit_);
    digits_.Add(low_total_, low_bit_);
    high_total_ = 0;
    low_total_ = 0;
    tiles_ = 0;
  }

  DoubleDigits<kThreads> wide_;
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

#endif  // WARPFOLD_KERNELS_CUDA_DOUBLE_WINDOW_SUM_CUH_
