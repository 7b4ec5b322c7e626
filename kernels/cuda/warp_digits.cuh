// A warp's exact sum: digits of 32 bits in words of 64, in a row of shared memory of its own, so
// that no addition waits for another warp's.
#ifndef WARPFOLD_KERNELS_CUDA_WARP_DIGITS_CUH_
#define WARPFOLD_KERNELS_CUDA_WARP_DIGITS_CUH_

#include <cstdint>

#include "kernels/cuda/warp.cuh"

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

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_WARP_DIGITS_CUH_
