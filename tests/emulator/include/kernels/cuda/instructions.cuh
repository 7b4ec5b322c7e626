// kernels/cuda/instructions.cuh for the emulated GPU.
#ifndef WARPFOLD_TESTS_EMULATOR_INCLUDE_KERNELS_CUDA_INSTRUCTIONS_CUH_
#define WARPFOLD_TESTS_EMULATOR_INCLUDE_KERNELS_CUDA_INSTRUCTIONS_CUH_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "tests/emulator/device.h"
#include "tests/kernels/extreme.h"

namespace warpfold::cuda {

#ifdef WARPFOLD_EMULATES_SLOW_FLOAT64
inline constexpr bool kIsFloat64Fast = false;
#else
inline constexpr bool kIsFloat64Fast = true;
#endif

template <std::uint32_t kSelector>
std::uint32_t Permute(std::uint32_t word) {
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t from = kSelector >> (4 * i) & 15;
    const std::uint32_t byte = (from & 7) < 4 ? word >> (8 * (from & 7)) & 0xff : 0;
    const std::uint32_t sign = (byte & 0x80) != 0 ? 0xff : 0;
    result |= (from < 8 ? byte : sign) << (8 * i);
  }
  return result;
}

inline std::uint32_t LiftE4M3Pair(std::uint32_t pair) {
  const auto half = [&](int i) {
    return std::uint32_t{Lift(F8E4M3{static_cast<std::uint8_t>(pair >> (8 * i))}).bits};
  };
  return half(0) | half(1) << 16;
}

template <bool kIsMin, bool kOmitsNan, typename T>
T Extreme(T a, T b) {
  return ExtremeByKey<kIsMin, kOmitsNan>(a, b);
}
template <bool kIsMin, bool kOmitsNan>
std::uint32_t ExtremePair(std::uint32_t a, std::uint32_t b) {
  return ExtremePairByKey<kIsMin, kOmitsNan>(a, b);
}

inline uint4* DynamicSharedMemory() { return static_cast<uint4*>(emulator::DynamicShared()); }

}  // namespace warpfold::cuda

#endif  // WARPFOLD_TESTS_EMULATOR_INCLUDE_KERNELS_CUDA_INSTRUCTIONS_CUH_
