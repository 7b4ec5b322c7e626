// The way into the installed kernels: #include <warpfold/cpu.h>, reductions of tensors in host
// memory (kernels/package.cmake).
#ifndef WARPFOLD_KERNELS_CPU_PACKAGE_CPU_H_
#define WARPFOLD_KERNELS_CPU_PACKAGE_CPU_H_

#include "kernels/cpu/reduction.h"  // IWYU pragma: export

#endif  // WARPFOLD_KERNELS_CPU_PACKAGE_CPU_H_
