// The exact sum of f32 or bf16 elements that a lane sees, a tile at a time.
//
// Where the exponents of a warp's tile lie in the warp's window, no float64 addition of them
// rounds: a lane adds its elements as they are, and the total, which is an integer in units of the
// window's lowest place, to 64 bits of its own. Two integer instructions an element find that out,
// and one vote a tile. A window moves with the data; what none holds is added as digits, which are
// integers. So is all there is where float64 additions are slow.
#ifndef WARPFOLD_KERNELS_CUDA_WINDOW_SUM_CUH_
#define WARPFOLD_KERNELS_CUDA_WINDOW_SUM_CUH_

#include <cstdint>

#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/lane_digits.cuh"
#include "kernels/cuda/lane_sum_base.cuh"
#include "kernels/cuda/lane_tile.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/state.h"

namespace warpfold::cuda {

__device__ __forceinline__ double PowerOfTwo(int exponent) {  // of a normal number
  return __hiloint2double((1023 + exponent) << 20, 0);
}

// How many tiles in a row are taken for wide once one is: wide data seldom are so for one tile.
inline constexpr int kWideTiles = 16;

template <typename T, int kRows, int kThreads>
class WindowSum : public LaneSumBase<T> {
 public:
  using Tile = LaneTile<T, kRows>;
  static constexpr int kBlockBytes = LaneDigits<T, kThreads>::kBlockBytes;

  __device__ WindowSum(const WarpDigits& digits, void* words, int thread)
      : LaneSumBase<T>(digits), wide_(words, thread) {}

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
    if (wide_.is_any_used()) this->digits_.Add(wide_.Take());
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
    for (const uint4& vector : tile.rows) {
      if (!wide_.Add(vector)) this->specials_ |= this->NotFiniteOf(vector);
    }
    if (++tiles_since_move_ < LaneDigits<T, kThreads>::kElementsMax / Tile::kLaneElements) return;
    tiles_since_move_ = 0;
    this->digits_.Add(wide_.Take());
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
    if (!kIsFloat64Fast || high - low > kWindow) {
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

  LaneDigits<T, kThreads> wide_;
  std::int64_t total_ = 0;
  double to_units_ = 0;
  std::uint32_t end_ = 0;  // no window yet
  std::uint32_t first_ = 0;
  int lowest_ = 0;  // exponent field
  int tiles_ = 0;
  int wide_tiles_ = 0;        // to come
  int tiles_since_move_ = 0;  // wide ones
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_WINDOW_SUM_CUH_
