// The way into the installed kernels: #include <warpfold/cuda.h>, reductions of tensors in device
// memory (kernels/package.cmake).
#ifndef WARPFOLD_KERNELS_CUDA_PACKAGE_CUDA_H_
#define WARPFOLD_KERNELS_CUDA_PACKAGE_CUDA_H_

#if __cplusplus < 202002L
#error "warpfold needs C++20: -std=c++20, also of nvcc"
#endif

#include "kernels/cuda/reduction.h"  // IWYU pragma: export

#endif  // WARPFOLD_KERNELS_CUDA_PACKAGE_CUDA_H_
