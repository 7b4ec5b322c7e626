// Passes that overlap: the next one is launched while the one before it still runs, and waits on
// the device for what it reads. Saves the gap between two kernels, within a reduction and between
// two that follow each other in a stream.
//
// Source: CUDA C++ Programming Guide, programmatic dependent launch. GPUs before Hopper do not have
// it, and run the passes one after another.
#ifndef WARPFOLD_KERNELS_CUDA_DEPENDENT_LAUNCH_CUH_
#define WARPFOLD_KERNELS_CUDA_DEPENDENT_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <cstddef>

namespace warpfold::cuda {

// What every thread of a pass does before it reads or writes memory: waits until the kernel before
// this one in its stream has ended and its writes are visible, then allows the next one to launch,
// which waits for this one alike. Not the other way round: launches would get further ahead, and
// find SMs that are full for different times: 4 million f32 were then described in 15.3 us instead
// of 12.2 (H200, 2026-11-22).
__device__ __forceinline__ void BeginPass() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// How a pass is launched.
struct PassLaunch {
  unsigned blocks;
  unsigned threads;
  bool overlaps = false;  // with the pass before; DeviceShape says whether it may
  int shared_bytes = 0;   // of each block, beside what the kernel declares
};

// Launches `kernel`, which must call BeginPass if it overlaps, behind what is in the stream.
template <class... Parameters, class... Arguments>
cudaError_t LaunchPass(void (*kernel)(Parameters...), const PassLaunch& launch, cudaStream_t stream,
                       const Arguments&... arguments) {
  constexpr int kUnasked = 48 << 10;  // what a kernel may have without saying so
  if (launch.shared_bytes > kUnasked) {
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes);
    if (error != cudaSuccess) return error;
  }
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(launch.blocks);
  config.blockDim = dim3(launch.threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = launch.overlaps ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_DEPENDENT_LAUNCH_CUH_
