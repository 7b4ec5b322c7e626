#include "kernels/cuda/load_module.h"

#include <cuda.h>

#include <vector>

namespace warpfold::cuda {
namespace {

// The driver's function `name`, which came with CUDA `version`. By way of the runtime: nothing here
// is linked against the driver's library, so that programs start where there is none.
template <typename Function>
cudaError_t GetDriverFunction(const char* name, unsigned version, Function** function) {
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(
      name, reinterpret_cast<void**>(function), version, cudaEnableDefault, &found);
  if (error != cudaSuccess) return error;
  return found == cudaDriverEntryPointSuccess ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t ToRuntimeError(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return cudaSuccess;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return cudaErrorMemoryAllocation;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return cudaErrorNoKernelImageForDevice;
    default:
      return cudaErrorUnknown;
  }
}

}  // namespace

cudaError_t LoadModuleOf(const void* kernel) {
  decltype(cuFuncGetModule)* get_module = nullptr;
  decltype(cuModuleGetFunctionCount)* get_count = nullptr;
  decltype(cuModuleEnumerateFunctions)* enumerate = nullptr;
  decltype(cuFuncLoad)* load = nullptr;
  cudaError_t error = GetDriverFunction("cuFuncGetModule", 11000, &get_module);
  if (error == cudaSuccess)
    error = GetDriverFunction("cuModuleGetFunctionCount", 12040, &get_count);
  if (error == cudaSuccess) {
    error = GetDriverFunction("cuModuleEnumerateFunctions", 12040, &enumerate);
  }
  if (error == cudaSuccess) error = GetDriverFunction("cuFuncLoad", 12040, &load);
  // Compiles the module's PTX where nothing else fits the device.
  cudaFunction_t function = nullptr;
  if (error == cudaSuccess) error = cudaGetFuncBySymbol(&function, kernel);
  if (error != cudaSuccess) return error;

  CUmodule module = nullptr;
  if (const CUresult result = get_module(&module, function); result != CUDA_SUCCESS) {
    return ToRuntimeError(result);
  }
  unsigned count = 0;
  if (const CUresult result = get_count(&count, module); result != CUDA_SUCCESS) {
    return ToRuntimeError(result);
  }
  std::vector<CUfunction> functions(count);
  if (const CUresult result = enumerate(functions.data(), count, module); result != CUDA_SUCCESS) {
    return ToRuntimeError(result);
  }
  for (CUfunction each : functions) {
    if (const CUresult result = load(each); result != CUDA_SUCCESS) return ToRuntimeError(result);
  }
  return cudaSuccess;
}

}  // namespace warpfold::cuda
