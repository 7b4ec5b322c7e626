// The way into the installed kernels: #include <warpfold/cpu.h>, reductions of tensors in host
// memory (kernels/package.cmake).
#ifndef WARPFOLD_KERNELS_CPU_PACKAGE_CPU_H_
#define WARPFOLD_KERNELS_CPU_PACKAGE_CPU_H_

#if __cplusplus < 202002L
#error "warpfold needs C++20: -std=c++20, also of nvcc"
#endif

#include "kernels/cpu/reduction.h"  // IWYU pragma: export

#endif  // WARPFOLD_KERNELS_CPU_PACKAGE_CPU_H_
