// Where the CUDA driver keeps what it compiles from PTX, and whether it can.
#ifndef WARPFOLD_SERVER_KERNEL_CACHE_H_
#define WARPFOLD_SERVER_KERNEL_CACHE_H_

#include <string>

namespace warpfold {

struct KernelCache {
  std::string folder;   // CUDA_CACHE_PATH, or ~/.nv/ComputeCache; empty: there is none
  std::string problem;  // why nothing is kept there; empty when it can be written
};

// From the environment. Writes nothing.
KernelCache FindKernelCache();

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_KERNEL_CACHE_H_
