// What the sums of a lane share, whatever their type: where totals go, and what digits cannot show.
#ifndef WARPFOLD_KERNELS_CUDA_LANE_SUM_BASE_CUH_
#define WARPFOLD_KERNELS_CUDA_LANE_SUM_BASE_CUH_

#include <cstdint>

#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/state.h"

namespace warpfold::cuda {

// Tiles whose totals an integer of a lane takes, each below 2^53.
inline constexpr int kTilesPerInteger = 256;

template <typename T>
__device__ bool IsNegativeZero(T x) {
  using Bits = typename exact::FloatFormat<T>::Bits;
  return BitCast<Bits>(x) == BitCast<Bits>(NegativeZero<T>());
}

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

  // Out of line, as it is rare, and what it needs would take registers from what is not.
  __device__ static __noinline__ std::uint32_t NotFiniteOf(uint4 vector) {
    T elements[sizeof(uint4) / sizeof(T)];
    memcpy(elements, &vector, sizeof(uint4));
    std::uint32_t specials = 0;
#pragma unroll
    for (const T stored : elements) {
      const auto x = Lift(stored);
      if (IsNan(x)) specials |= exact::kHasNan;
      if (IsInf(x)) {
        specials |= Widen(x) < 0 ? exact::kHasNegativeInfinity : exact::kHasPositiveInfinity;
      }
    }
    return specials;
  }

  const WarpDigits digits_;
  std::uint32_t specials_ = 0;
  bool is_nan_ = false;
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_SUM_BASE_CUH_
