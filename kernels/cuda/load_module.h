// Loads a module, all kernels of one fat binary, at once. The runtime loads each kernel when it is
// first launched, which makes that launch slow and, where the driver has to compile PTX, takes
// minutes.
#ifndef WARPFOLD_KERNELS_CUDA_LOAD_MODULE_H_
#define WARPFOLD_KERNELS_CUDA_LOAD_MODULE_H_

#include <cuda_runtime_api.h>

namespace warpfold::cuda {

// Loads the module that holds `kernel`, and every kernel in it, onto the current device. Blocks.
[[nodiscard]] cudaError_t LoadModuleOf(const void* kernel);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LOAD_MODULE_H_
