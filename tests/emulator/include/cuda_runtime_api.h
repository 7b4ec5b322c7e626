// The types of the CUDA runtime that the kernels' launches name, for the emulated GPU.
#ifndef WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_API_H_
#define WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_API_H_

#include <cstddef>
#include <cstring>

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
using cudaStream_t = struct CUstream_st*;

// At once, as everything here.
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

#endif  // WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_API_H_
