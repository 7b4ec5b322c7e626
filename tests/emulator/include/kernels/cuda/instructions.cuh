// kernels/cuda/instructions.cuh for the emulated GPU.
#ifndef WARPFOLD_TESTS_EMULATOR_INCLUDE_KERNELS_CUDA_INSTRUCTIONS_CUH_
#define WARPFOLD_TESTS_EMULATOR_INCLUDE_KERNELS_CUDA_INSTRUCTIONS_CUH_

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/element.h"
#include "tests/emulator/device.h"

namespace warpfold::cuda {

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

template <bool kIsMin, bool kOmitsNan>
float Extreme(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) {
    if (!kOmitsNan || (std::isnan(a) && std::isnan(b))) {
      return BitCast<float>(std::uint32_t{0x7fffffff});  // the NaN that the GPU gives
    }
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == kIsMin ? a : b;
  return (a < b) == kIsMin ? a : b;
}

inline std::uint16_t HalfBits(float x) { return RoundFromDouble<Half>(x).bits; }

inline uint4* DynamicSharedMemory() { return static_cast<uint4*>(emulator::DynamicShared()); }

}  // namespace warpfold::cuda

#endif  // WARPFOLD_TESTS_EMULATOR_INCLUDE_KERNELS_CUDA_INSTRUCTIONS_CUH_
