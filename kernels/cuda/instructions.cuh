// Instructions that CUDA C++ has no name for: PTX, a function each.
//
// Source: Parallel Thread Execution ISA.
#ifndef WARPFOLD_KERNELS_CUDA_INSTRUCTIONS_CUH_
#define WARPFOLD_KERNELS_CUDA_INSTRUCTIONS_CUH_

#include <cstdint>

#include "kernels/dtypes/element.h"

namespace warpfold::cuda {

// prmt: byte i of the result is byte s of `word`, s the i-th hexadecimal digit of kSelector from
// the right, or of s - 8 the highest bit, eight times; 4 is a byte of zeros. __byte_perm does not
// know the sign.
template <std::uint32_t kSelector>
__device__ __forceinline__ std::uint32_t Permute(std::uint32_t word) {
  std::uint32_t result;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(result) : "r"(word), "n"(kSelector));
  return result;
}

// cvt: two neighbours of E4M3, the first in the lowest byte, as halves; what is above them does not
// matter.
__device__ __forceinline__ std::uint32_t LiftE4M3Pair(std::uint32_t pair) {
#if __CUDA_ARCH__ >= 890
  std::uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(pair)));
  return halves;
#else
  // As Lift does it: exponents and mantissas in halves' places, times 2^8; then NaN, the only one
  // whose magnitude carries into the sign's place, gets all bits of the exponent.
  const std::uint32_t bytes = Permute<0x1404>(pair);
  const std::uint32_t magnitudes = bytes & 0x7f007f00u;
  const std::uint32_t moved = (bytes & 0x80008000u) | magnitudes >> 1;
  const std::uint32_t factors = 0x5c005c00u;
  std::uint32_t halves;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(moved), "r"(factors));
  const std::uint32_t is_nan = (magnitudes + 0x01000100u) & 0x80008000u;
  return halves | (is_nan - (is_nan >> 6));
#endif
}

// min, max: -0.0 is below +0.0. kOmitsNan: the other of a NaN; otherwise NaN if either is. GPUs
// before 8.0 have them for float32 alone, and know no NaN there but the omitted: halves are
// widened.
#if __CUDA_ARCH__ < 800
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ float Extreme(float a, float b) {
  float result;
  if constexpr (kIsMin) asm("min.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  if constexpr (!kIsMin) asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  if (!kOmitsNan && (a != a || b != b)) return __int_as_float(0x7fffffff);
  return result;
}
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ Half Extreme(Half a, Half b) {
  const float wide = Extreme<kIsMin, kOmitsNan>(Widen(a), Widen(b));
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
  return Half{bits};
}
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ BFloat16 Extreme(BFloat16 a, BFloat16 b) {
  const float wide = Extreme<kIsMin, kOmitsNan>(Widen(a), Widen(b));
  return BFloat16{static_cast<std::uint16_t>(__float_as_uint(wide) >> 16)};
}
// Of two halves each.
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ std::uint32_t ExtremePair(std::uint32_t a, std::uint32_t b) {
  const auto extreme = [&](int shift) {
    const Half of_a{static_cast<std::uint16_t>(a >> shift)};
    const Half of_b{static_cast<std::uint16_t>(b >> shift)};
    return std::uint32_t{Extreme<kIsMin, kOmitsNan>(of_a, of_b).bits} << shift;
  };
  return extreme(0) | extreme(16);
}
#else
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ std::uint32_t ExtremePair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  if constexpr (kIsMin && kOmitsNan) asm("min.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  if constexpr (!kIsMin && kOmitsNan) asm("max.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  if constexpr (kIsMin && !kOmitsNan) {
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  if constexpr (!kIsMin && !kOmitsNan) {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ float Extreme(float a, float b) {
  float result;
  if constexpr (kIsMin && kOmitsNan) asm("min.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  if constexpr (!kIsMin && kOmitsNan) asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  if constexpr (kIsMin && !kOmitsNan) {
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  }
  if constexpr (!kIsMin && !kOmitsNan) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  }
  return result;
}
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ Half Extreme(Half a, Half b) {
  std::uint16_t bits;
  if constexpr (kIsMin && kOmitsNan) {
    asm("min.f16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  if constexpr (!kIsMin && kOmitsNan) {
    asm("max.f16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  if constexpr (kIsMin && !kOmitsNan) {
    asm("min.NaN.f16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  if constexpr (!kIsMin && !kOmitsNan) {
    asm("max.NaN.f16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  return Half{bits};
}
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ BFloat16 Extreme(BFloat16 a, BFloat16 b) {
  std::uint16_t bits;
  if constexpr (kIsMin && kOmitsNan) {
    asm("min.bf16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  if constexpr (!kIsMin && kOmitsNan) {
    asm("max.bf16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  if constexpr (kIsMin && !kOmitsNan) {
    asm("min.NaN.bf16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  if constexpr (!kIsMin && !kOmitsNan) {
    asm("max.NaN.bf16 %0, %1, %2;" : "=h"(bits) : "h"(a.bits), "h"(b.bits));
  }
  return BFloat16{bits};
}
#endif

// Whether float64 additions are fast: half as many as those of float32, and not a 64th, as on GPUs
// for graphics. Sums of whole tensors then take integers.
//
// Source: CUDA C++ Programming Guide, Throughput of Native Arithmetic Instructions.
#if __CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
inline constexpr bool kIsFloat64Fast = true;
#else
inline constexpr bool kIsFloat64Fast = false;
#endif

// The shared memory that a block has beside what its kernel declares (LaunchPass).
__device__ __forceinline__ uint4* DynamicSharedMemory() {
  extern __shared__ uint4 dynamic_shared_memory[];
  return dynamic_shared_memory;
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_INSTRUCTIONS_CUH_
