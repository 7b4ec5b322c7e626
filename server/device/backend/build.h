// What this build holds for GPUs: the CUDA backend or not, and code for which of them.
#ifndef WARPFOLD_SERVER_DEVICE_BACKEND_BUILD_H_
#define WARPFOLD_SERVER_DEVICE_BACKEND_BUILD_H_

#include "kernels/cuda/architectures.h"

namespace warpfold {

struct Build {
  bool has_cuda = false;
  int cuda_major = 0;  // 13: the CUDA runtime's; 0 without
  cuda::CompiledFor compiled;
};

Build ThisBuild();

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_BACKEND_BUILD_H_
