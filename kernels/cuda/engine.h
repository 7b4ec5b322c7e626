// The type-erased inside of reduce.h: one Engine for each dtype and fused op set.
#ifndef WARPFOLD_KERNELS_CUDA_ENGINE_H_
#define WARPFOLD_KERNELS_CUDA_ENGINE_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/batch.h"
#include "kernels/cuda/launch_plan.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/fold.h"

namespace warpfold::cuda {

// The functions of reduce.h, without the Job that chose the engine.
class Engine {
 public:
  virtual std::size_t StateBytes() const = 0;
  virtual std::size_t ElementsScratchBytes(const Extent& extent,
                                           const DeviceShape& device) const = 0;
  virtual std::size_t StatesScratchBytes(const Extent& extent) const = 0;
  virtual cudaError_t FoldElements(const void* d_data, const Extent& extent, const Output& output,
                                   void* d_scratch, const DeviceShape& device,
                                   cudaStream_t stream) const = 0;
  virtual cudaError_t FoldBatch(const BatchItem* d_items, const BatchLaunch& launch,
                                cudaStream_t stream) const = 0;
  virtual cudaError_t FoldStates(const void* d_states, const Extent& extent, const Output& output,
                                 void* d_scratch, const DeviceShape& device,
                                 cudaStream_t stream) const = 0;
  virtual cudaError_t JoinStates(const void* d_states, std::int64_t count, void* d_to,
                                 cudaStream_t stream) const = 0;
  // One of its kernels, by which the module is found that holds all of the element type's.
  virtual const void* AnyKernel() const = 0;

 protected:
  ~Engine() = default;
};

// The engine of T and `fused_op_set`. Each T is instantiated in a .cu of its own
// (engine_instance.cu.in).
template <typename T>
const Engine& EngineFor(FusedOpSet fused_op_set);
// PROD of floats has engines of its own.
template <typename T>
const Engine& ProductEngineFor(NanPolicy nan_policy);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_ENGINE_H_
