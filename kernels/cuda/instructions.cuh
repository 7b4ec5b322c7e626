// Instructions that CUDA C++ has no name for: PTX, a function each.
//
// Source: Parallel Thread Execution ISA.
#ifndef WARPFOLD_KERNELS_CUDA_INSTRUCTIONS_CUH_
#define WARPFOLD_KERNELS_CUDA_INSTRUCTIONS_CUH_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/extreme.h"

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
  const auto half = [&](int i) {
    return std::uint32_t{Lift(F8E4M3{static_cast<std::uint8_t>(pair >> (8 * i))}).bits};
  };
  return half(0) | half(1) << 16;
#endif
}

// min, max: -0.0 is below +0.0. kOmitsNan: the other of a NaN; otherwise NaN if either is. GPUs
// before 8.0 do not have these instructions for every type, and take integers.
#if __CUDA_ARCH__ < 800
template <bool kIsMin, bool kOmitsNan, typename T>
__device__ __forceinline__ T Extreme(T a, T b) {
  return ExtremeByKey<kIsMin, kOmitsNan>(a, b);
}
// Of two halves each.
template <bool kIsMin, bool kOmitsNan>
__device__ __forceinline__ std::uint32_t ExtremePair(std::uint32_t a, std::uint32_t b) {
  return ExtremePairByKey<kIsMin, kOmitsNan>(a, b);
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
