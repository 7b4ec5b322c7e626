// Digits of 32 bits in words of 64, one a lane of a warp: how a sum is carried and rounded in
// parallel.
#ifndef WARPFOLD_KERNELS_CUDA_DIGITS_OVER_LANES_CUH_
#define WARPFOLD_KERNELS_CUDA_DIGITS_OVER_LANES_CUH_

#include <cstdint>

#include "kernels/cuda/warp.cuh"
#include "kernels/exact/rounding.h"
#include "kernels/exact/words.h"

namespace warpfold::cuda {

// The magnitude and the sign of a sum.
struct SignedLeading {
  exact::Leading magnitude;
  bool is_negative;
};

// Digits in a warp's registers: lane l has those numbered l + 32 m.
template <int kDigitCount>
struct DigitsOverLanes {
  static constexpr int kCount = kDigitCount;
  static constexpr int kMine = (kCount + 31) / 32;
  std::int64_t mine[kMine];

  // Moves what each digit but the last has beyond 32 bits to the next one up, so that digits of
  // less than 2^62 become less than 2^32; as long as one has something, which it returns. With
  // kIsSigned digits end in [-2^31, 2^31), and a small negative one has nothing to move; otherwise
  // in [0, 2^32).
  template <bool kIsSigned>
  __device__ bool CarryOnce(int lane) {
    constexpr std::int64_t kBias = kIsSigned ? std::int64_t{1} << 31 : 0;
    std::int64_t carries[kMine];
    bool has_carry = false;
#pragma unroll
    for (int m = 0; m < kMine; ++m) {
      carries[m] = lane + 32 * m < kCount - 1 ? (mine[m] + kBias) >> 32 : 0;
      has_carry |= carries[m] != 0;
      mine[m] -= carries[m] * (std::int64_t{1} << 32);
    }
    if (!__any_sync(kFullWarp, has_carry)) return false;
    std::int64_t from_last_lane = 0;
#pragma unroll
    for (int m = 0; m < kMine; ++m) {
      const std::int64_t from_below = __shfl_up_sync(kFullWarp, carries[m], 1);
      mine[m] += lane == 0 ? from_last_lane : from_below;
      from_last_lane = __shfl_sync(kFullWarp, carries[m], 31);
    }
    return true;
  }

  // The highest digit that is not 0; -1 of none.
  __device__ int Top() const {
    int top = -1;
#pragma unroll
    for (int m = 0; m < kMine; ++m) {
      const unsigned set = __ballot_sync(kFullWarp, mine[m] != 0);
      if (set != 0) top = 32 * m + 31 - __clz(static_cast<int>(set));
    }
    return top;
  }

  // The digit that all lanes ask for; 0 of one below the first.
  __device__ std::int64_t At(int d) const {
    std::int64_t found = 0;
#pragma unroll
    for (int m = 0; m < kMine; ++m) {
      const std::int64_t of_lane = __shfl_sync(kFullWarp, mine[m], d & 31);
      if (d >> 5 == m) found = of_lane;
    }
    return found;
  }
};

// Of the sum of digits * 2^(32 i + unit), which has to fit them, the last of which has a sign.
template <int kCount>
__device__ SignedLeading LeadingOf(DigitsOverLanes<kCount> digits, int unit, int lane) {
  // With signs, or the sign of a negative sum would move through all digits above it.
  while (digits.template CarryOnce<true>(lane)) {
  }
  int top = digits.Top();
  if (top < 0) return {{0, 0, false}, false};
  const bool is_negative = digits.At(top) < 0;
#pragma unroll
  for (std::int64_t& digit : digits.mine) digit = is_negative ? -digit : digit;
  while (digits.template CarryOnce<false>(lane)) {
  }
  top = digits.Top();
  const auto bits = [&](int d) { return uint128{static_cast<std::uint64_t>(digits.At(d))}; };
  const uint128 three = bits(top) << 64 | bits(top - 1) << 32 | bits(top - 2);
  bool has_rest = false;
#pragma unroll
  for (int m = 0; m < digits.kMine; ++m) {
    has_rest |= lane + 32 * m < top - 2 && digits.mine[m] != 0;
  }
  const int dropped = exact::BitLength(three) - 64;  // the top digit is not 0
  const uint128 below = three & ((uint128{1} << dropped) - 1);
  return {{static_cast<std::uint64_t>(three >> dropped), unit + 32 * (top - 2) + dropped,
           __any_sync(kFullWarp, has_rest) || below != 0},
          is_negative};
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_DIGITS_OVER_LANES_CUH_
