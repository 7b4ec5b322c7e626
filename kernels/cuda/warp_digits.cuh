// A warp's exact sum: digits of 32 bits in words of 64, in a row of shared memory of its own, so
// that no addition waits for another warp's.
#ifndef WARPFOLD_KERNELS_CUDA_WARP_DIGITS_CUH_
#define WARPFOLD_KERNELS_CUDA_WARP_DIGITS_CUH_

#include <cstdint>

#include "kernels/cuda/warp.cuh"
#include "kernels/exact/rounding.h"

namespace warpfold::cuda {

// A value of 64 bits in digits of 32, all but the last without a sign.
struct Digits {
  std::int64_t digits[3];
};
__device__ __forceinline__ Digits DigitsOf(std::int64_t value, int shift) {
  const std::uint64_t low = std::uint64_t{static_cast<std::uint32_t>(value)} << shift;
  const std::int64_t high =
      (value >> 32) * (std::int64_t{1} << shift) + static_cast<std::int64_t>(low >> 32);
  return {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high), high >> 32}};
}

// Where each lane has a value to be added times 2^(kBit + lane * 2^kSpacingLog2). Where that is no
// whole power of two the value has to be a multiple of its inverse.
template <int kSpacingLog2, int kBit>
struct SpacedDigits {
  // Lanes of a turn lie 32 bits apart, and a lane without a place of its own has the last one.
  static constexpr int kSpacedTurns = 32 >> kSpacingLog2;
  static constexpr int kTurns = kSpacedTurns + (kBit < 0 ? 1 : 0);
  static_assert(kBit >= -(1 << kSpacingLog2));

  Digits digits;
  int first;  // that of digits[0]
  int turn;
  bool is_any;

  __device__ SpacedDigits(std::int64_t value, int lane) {
    int bit = kBit + (lane << kSpacingLog2);
    turn = lane % kSpacedTurns;
    is_any = value != 0;
    if (bit < 0) {
      value >>= -bit;
      bit = 0;
      turn = kSpacedTurns;
    }
    first = bit >> 5;
    digits = DigitsOf(value, bit & 31);
  }
};

class WarpDigits {
 public:
  // `row` is the warp's, zeros at first.
  __device__ WarpDigits(std::int64_t* row, int lane) : row_(row), lane_(lane) {}

  // Adds the lanes' values times 2^bit; |value| < 2^62, `bit` is the same for all. For a negative
  // bit the values have to be multiples of 2^-bit.
  __device__ void Add(std::int64_t value, int bit) const {
    if (bit < 0) {
      value >>= min(-bit, 63);
      bit = 0;
    }
    constexpr int kBits = 26;  // whose sum over a warp has 31
    constexpr std::uint32_t kMask = (1u << kBits) - 1;
    const auto piece = [](std::int64_t x) {
      const auto bits = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) & kMask);
      return std::int64_t{static_cast<std::uint32_t>(AddOverWarp(bits))};
    };
    const std::int64_t low = piece(value) + (piece(value >> kBits) << kBits);
    AddOne(low, bit);
    AddOne(AddOverWarp(static_cast<std::int32_t>(value >> (2 * kBits))), bit + 2 * kBits);
  }

  // Adds each lane's value, that of a SpacedDigits.
  template <int kSpacingLog2, int kBit>
  __device__ void Add(const SpacedDigits<kSpacingLog2, kBit>& spaced) const {
#pragma unroll
    for (int t = 0; t < spaced.kTurns; ++t) {
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        if (spaced.turn == t && spaced.is_any) row_[spaced.first + d] += spaced.digits.digits[d];
        __syncwarp();
      }
    }
  }

 private:
  // The same value in all lanes, of which three add a digit each.
  __device__ void AddOne(std::int64_t value, int bit) const {
    const Digits digits = DigitsOf(value, bit & 31);
    const std::int64_t digit = lane_ == 0   ? digits.digits[0]
                               : lane_ == 1 ? digits.digits[1]
                                            : digits.digits[2];
    if (lane_ < 3) row_[(bit >> 5) + lane_] += digit;
    __syncwarp();
  }

  std::int64_t* const row_;
  const int lane_;
};

// The magnitude and the sign of a sum.
struct SignedLeading {
  exact::Leading magnitude;
  bool is_negative;
};

// Digits in a warp's registers: lane l has those numbered l + 32 m.
template <int kDigitCount>
struct LaneDigit {
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
__device__ SignedLeading LeadingOf(LaneDigit<kCount> digits, int unit, int lane) {
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

#endif  // WARPFOLD_KERNELS_CUDA_WARP_DIGITS_CUH_
