// Floats of 8 bits, four at a time (packed.cuh): lifted to halves by two, and added to a float64.
#ifndef WARPFOLD_KERNELS_CUDA_PACKED_FLOATS_CUH_
#define WARPFOLD_KERNELS_CUDA_PACKED_FLOATS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/dtypes/element.h"

namespace warpfold::cuda {

// Elements 2 * kPair and 2 * kPair + 1, lifted: of any small float, and at once where a format
// allows it.
template <int kPair, typename T>
__device__ __forceinline__ HalfWords LiftPair(const Packed<T>& x) {
  static_assert(std::is_same_v<Lifted<T>, Half>, "a GPU's loops lift small floats to halves");
  const auto lifted = [&](int i) {
    return std::uint32_t{Lift(T{static_cast<std::uint8_t>(x.word >> (8 * i))}).bits};
  };
  return lifted(2 * kPair) | lifted(2 * kPair + 1) << 16;
}
template <int kPair>
__device__ __forceinline__ HalfWords LiftPair(const Packed<F8E5M2>& x) {
  return Permute < kPair == 0 ? 0x1404 : 0x3424 > (x.word);
}
template <int kPair>
__device__ __forceinline__ HalfWords LiftPair(const Packed<F8E4M3>& x) {
  return LiftE4M3Pair(x.word >> (16 * kPair));
}

__device__ __forceinline__ Half LowHalf(HalfWords pair) {
  return Half{static_cast<std::uint16_t>(pair)};
}
__device__ __forceinline__ Half HighHalf(HalfWords pair) {
  return Half{static_cast<std::uint16_t>(pair >> 16)};
}

// visit(lifted element, its number) of all four.
template <typename T, class Visit>
__device__ __forceinline__ void ForEachLifted(const Packed<T>& x, const Visit& visit) {
  const HalfWords pairs[2] = {LiftPair<0>(x), LiftPair<1>(x)};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    visit(i % 2 == 0 ? LowHalf(pairs[i / 2]) : HighHalf(pairs[i / 2]), i);
  }
}

// The high bit of each byte of `word` that is NaN or an infinity.
template <typename T>
__device__ __forceinline__ std::uint32_t NotFiniteBytes(std::uint32_t word) {
  // The least such magnitude and all above it carry into the sign's place, others do not.
  constexpr std::uint32_t kBytes = 0x01010101;
  constexpr std::uint32_t kNotFinite =
      kHasInfinities<T> ? ((1u << T::kExponentBits) - 1) << T::kMantissaBits : 0x7f;
  return ((word & (0x7f * kBytes)) + (0x80 - kNotFinite) * kBytes) & (0x80 * kBytes);
}

// The upper half of `pair`, if it is finite, is UpperMoved(pair) * kUpperMovedBy: its bits at their
// places in a float64, those of subnormal halves with the others; the factor makes up for the other
// bias. A conversion to float64 is one instruction, but runs at a quarter of its additions' rate.
__device__ __forceinline__ double UpperMoved(HalfWords pair) {
  constexpr std::uint32_t kSignAndMagnitude = 0x81fffc00u;
  const auto moved = static_cast<std::uint32_t>(static_cast<std::int32_t>(pair) >> 6);
  return __hiloint2double(static_cast<int>(moved & kSignAndMagnitude), 0);
}
inline constexpr double kUpperMovedBy = 0x1p1008;

// sum + x, rounded once. REQUIRES: x is finite.
__device__ __forceinline__ double AddFinite(double sum, Half x) {
  return __dadd_rn(sum, WidenToDouble(x));
}
// sum + x0 + ... + x3, where that is exact. REQUIRES: they are finite.
template <typename T>
__device__ __forceinline__ double AddFinite(double sum, const Packed<T>& x) {
  ForEachLifted(x, [&](Half lifted, int) { sum = AddFinite(sum, lifted); });
  return sum;
}
// Four times 448, in units of 2^-9, have 20 bits: a float32 holds them, and there is one conversion
// for all.
__device__ __forceinline__ double AddFinite(double sum, const Packed<F8E4M3>& x) {
  const HalfWords first = LiftPair<0>(x);
  const HalfWords second = LiftPair<1>(x);
  const float of_first = Widen(LowHalf(first)) + Widen(HighHalf(first));
  const float of_second = Widen(LowHalf(second)) + Widen(HighHalf(second));
  return __dadd_rn(sum, static_cast<double>(of_first + of_second));
}
// Elements of E5M2 have 32 bits between the greatest and the least. Two of them are converted and
// two moved, which are the work of different units: 4,330 GB/s of an H200's 4,480, where it is
// 3,630 with four conversions and 3,840 with none (2026-11-29).
__device__ __forceinline__ double AddFinite(double sum, const Packed<F8E5M2>& x) {
  const HalfWords pairs[2] = {LiftPair<0>(x), LiftPair<1>(x)};
#pragma unroll
  for (const HalfWords pair : pairs) {
    sum = __fma_rn(UpperMoved(pair), kUpperMovedBy, sum);
    sum = AddFinite(sum, LowHalf(pair));
  }
  return sum;
}

// The least size of an element that is not zero, as a float32's bits.
template <typename T>
inline constexpr std::uint32_t kLeastSize =
    static_cast<std::uint32_t>(127 + 1 - ((1 << (T::kExponentBits - 1)) - 1) - T::kMantissaBits)
    << 23;

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PACKED_FLOATS_CUH_
