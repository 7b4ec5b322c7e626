// Floats of 8 bits, four at a time (packed.cuh): lifted to halves by two, and added to float64
// numbers without a conversion.
#ifndef WARPFOLD_KERNELS_CUDA_PACKED_FLOATS_CUH_
#define WARPFOLD_KERNELS_CUDA_PACKED_FLOATS_CUH_

#include <cstdint>

#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/dtypes/element.h"

namespace warpfold::cuda {

// Elements 2 * kPair and 2 * kPair + 1, lifted.
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
  constexpr std::uint32_t kNotFinite = kHasInfinities<T> ? 0x7c : 0x7f;
  return ((word & (0x7f * kBytes)) + (0x80 - kNotFinite) * kBytes) & (0x80 * kBytes);
}

// A finite element as a float64 is Moved(x) * kMovedBy<T>: conversions to float64 run at a quarter
// of the rate of its additions and products, so the bits are put at their places in one, those of
// subnormal elements with the others, and the factor makes up for the other bias.
template <typename T>
__device__ __forceinline__ double Moved(T x) {
  constexpr int kDown = T::kMantissaBits + 4;
  constexpr std::uint32_t kMagnitude = 0x7f000000u >> kDown;
  const auto top = static_cast<std::int32_t>(std::uint32_t{x.bits} << 24);
  const std::uint32_t high = static_cast<std::uint32_t>(top >> kDown) & (0x80000000u | kMagnitude);
  return __hiloint2double(static_cast<int>(high), 0);
}
template <typename T>
__device__ __forceinline__ double MovedBy() {
  constexpr int kBias = (1 << (T::kExponentBits - 1)) - 1;
  return __hiloint2double((2 * 1023 - kBias) << 20, 0);  // 2^(1023 - kBias)
}

// sum + x, rounded once. REQUIRES: x is finite.
__device__ __forceinline__ double AddFinite(double sum, Half x) {
  return __dadd_rn(sum, WidenToDouble(x));
}
template <typename T>
requires kIsLifted<T> __device__ __forceinline__ double AddFinite(double sum, T x) {
  return __fma_rn(Moved(x), MovedBy<T>(), sum);
}

// The least size of an element that is not zero, as a float32's bits.
template <typename T>
inline constexpr std::uint32_t kLeastSize =
    static_cast<std::uint32_t>(127 + 1 - ((1 << (T::kExponentBits - 1)) - 1) - T::kMantissaBits)
    << 23;

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PACKED_FLOATS_CUH_
