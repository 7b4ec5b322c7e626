// Passes that overlap: the next one is launched while the one before it still runs, and waits on
// the device for what it reads. Saves the gap between two kernels, within a reduction and between
// two that follow each other in a stream.
//
// Source: CUDA C++ Programming Guide, programmatic dependent launch. GPUs before Hopper do not have
// it, and run the passes one after another.
#ifndef WARPFOLD_KERNELS_CUDA_DEPENDENT_LAUNCH_CUH_
#define WARPFOLD_KERNELS_CUDA_DEPENDENT_LAUNCH_CUH_

#include <cuda_runtime.h>

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

// Launches `kernel`, which must call BeginPass, behind what is in the stream. `overlaps`: whether
// the GPU can overlap passes.
template <class... Parameters, class... Arguments>
cudaError_t LaunchPass(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                       bool overlaps, cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlaps ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_DEPENDENT_LAUNCH_CUH_
