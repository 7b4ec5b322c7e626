// The exact sum of the elements that a lane sees, a tile at a time: LaneSum<type, rows of a tile,
// threads of a block>. Add is for all lanes of a warp at once, and nobody sees by what means a tile
// was added.
#ifndef WARPFOLD_KERNELS_CUDA_LANE_SUM_CUH_
#define WARPFOLD_KERNELS_CUDA_LANE_SUM_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/double_window_sum.cuh"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/lane_digits.cuh"
#include "kernels/cuda/lane_sum_base.cuh"
#include "kernels/cuda/lane_tile.cuh"
#include "kernels/cuda/packed_floats.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/cuda/window_sum.cuh"
#include "kernels/dtypes/element.h"

namespace warpfold::cuda {

// f16, and what is lifted to it: every sum of a tile is exact.
template <typename Stored, int kRows>
class HalfSum : public LaneSumBase<Stored> {
 public:
  using Tile = LaneTile<Stored, kRows>;
  static constexpr int kBlockBytes = 0;  // of shared memory

  __device__ HalfSum(const WarpDigits& digits, void*, int) : LaneSumBase<Stored>(digits) {}

  __device__ __forceinline__ void Add(const Tile& tile) {
    if (this->is_nan_) return;
    const bool is_finite = IsFinite(tile);
    double sums[2] = {-0.0, -0.0};
    if constexpr (kIsFloat64Fast) AddElements(tile, sums);
    if (!__all_sync(kFullWarp, is_finite)) {
      this->AddNotFinite(tile);
      return;
    }
    if constexpr (!kIsFloat64Fast) {
      tile.ForEach([&](Half x, int) {
        total_ += UnitsOf(x);
        if (!IsNegativeZero(x)) this->specials_ |= exact::kHasOtherThanNegativeZero;
      });
      return;
    }
    const double sum = __dadd_rn(sums[0], sums[1]);
    this->NoteSign(sum);
    total_ += __double2ll_rn(sum * 0x1p24);
  }

  __device__ void Close() { this->digits_.Add(total_, 0); }

 private:
  __device__ __forceinline__ static void AddElements(const Tile& tile, double (&sums)[2]) {
    if constexpr (std::is_same_v<Stored, Half>) {
      tile.ForEach([&](Half x, int i) { sums[i % 2] = AddFinite(sums[i % 2], x); });
    } else {
      int i = 0;
      tile.ForEachWord([&](std::uint32_t word) {
        double& sum = sums[i++ % 2];
        sum = AddFinite(sum, Packed<Stored>{word});
      });
    }
  }

  __device__ __forceinline__ static bool IsFinite(const Tile& tile) {
    if constexpr (std::is_same_v<Stored, Half>) {
      std::uint32_t largest = 0;  // of both halves of a word
      tile.ForEachWord([&](std::uint32_t word) { largest = __vmaxu2(largest, word & 0x7fff7fff); });
      constexpr std::uint32_t kInfinity = 0x7c00;
      return (largest & 0xffff) < kInfinity && largest >> 16 < kInfinity;
    } else {
      std::uint32_t not_finite = 0;
      tile.ForEachWord([&](std::uint32_t word) { not_finite |= NotFiniteBytes<Stored>(word); });
      return not_finite == 0;
    }
  }

  std::int64_t total_ = 0;
};

template <typename T, int kRows, int kThreads>
using LaneSum = std::conditional_t<
    std::is_same_v<Lifted<T>, Half>, HalfSum<T, kRows>,
    std::conditional_t<std::is_same_v<T, double>, DoubleWindowSum<kRows, kThreads>,
                       WindowSum<T, kRows, kThreads>>>;

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_SUM_CUH_
