// The types of the CUDA runtime that the kernels' launches name, for the emulated GPU.
#ifndef WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_API_H_
#define WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_API_H_

#include <cstddef>

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
using cudaStream_t = struct CUstream_st*;

#endif  // WARPFOLD_TESTS_EMULATOR_INCLUDE_CUDA_RUNTIME_API_H_
