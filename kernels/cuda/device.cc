#include "kernels/cuda/device.h"

#include <cstdlib>

#include "kernels/cuda/architectures.h"
#include "kernels/cuda/engine.h"
#include "kernels/cuda/exact_sum.h"
#include "kernels/cuda/load_module.h"
#include "kernels/cuda/output_sums.h"

namespace warpfold::cuda {

cudaError_t GetDeviceShape(int ordinal, DeviceShape* shape) {
  ComputeCapability gpu;
  struct {
    cudaDeviceAttr attribute;
    int* value;
  } const wanted[] = {{cudaDevAttrMultiProcessorCount, &shape->sm_count},
                      {cudaDevAttrMaxSharedMemoryPerBlockOptin, &shape->shared_bytes_per_block},
                      {cudaDevAttrComputeCapabilityMajor, &gpu.major},
                      {cudaDevAttrComputeCapabilityMinor, &gpu.minor}};
  for (const auto& [attribute, value] : wanted) {
    const cudaError_t error = cudaDeviceGetAttribute(value, attribute, ordinal);
    if (error != cudaSuccess) return error;
  }
  CompiledFor compiled = CompiledArchitectures();
  // The driver then compiles the PTX, though there is machine code.
  const char* forces_ptx = std::getenv("CUDA_FORCE_PTX_JIT");
  if (forces_ptx != nullptr && std::atoi(forces_ptx) != 0) compiled.machine_code = {};
  const Code code = CodeFor(gpu, compiled);
  shape->overlaps_passes =
      code.match != CodeMatch::kNone && code.compiled_for >= ComputeCapability{9, 0};
  return cudaSuccess;
}

cudaError_t LoadKernels(DType dtype) {
  return VisitBuilt(dtype, [](auto tag) {
    using T = typename decltype(tag)::type;
    cudaError_t error = LoadModuleOf(EngineFor<T>(FusedOpSet::kSum).AnyKernel());
    if constexpr (kIsFloat<T>) {
      if (error == cudaSuccess) error = LoadModuleOf(OutputSumsOf<T>::AnyKernel());
      if (error == cudaSuccess) error = LoadModuleOf(AnyExactSumKernel<T>());
    }
    return error;
  });
}

}  // namespace warpfold::cuda
