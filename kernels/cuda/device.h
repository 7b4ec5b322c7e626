// A GPU before the first reduction: what it is like, and its kernels loaded.
#ifndef WARPFOLD_KERNELS_CUDA_DEVICE_H_
#define WARPFOLD_KERNELS_CUDA_DEVICE_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/launch_plan.h"
#include "kernels/types.h"

namespace warpfold::cuda {

// What launch shapes depend on, of GPU `ordinal`.
[[nodiscard]] cudaError_t GetDeviceShape(int ordinal, DeviceShape* shape);

// Loads all kernels of `dtype` onto the current device, so that no request waits for that: a
// fraction of a second, or minutes where the build has only PTX for the GPU and the driver compiles
// it, once, into its cache (CUDA_CACHE_PATH). Blocks. cudaErrorNoKernelImageForDevice: the build
// has no code for the GPU. Without it, kernels are loaded by their first launch.
[[nodiscard]] cudaError_t LoadKernels(DType dtype);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_DEVICE_H_
