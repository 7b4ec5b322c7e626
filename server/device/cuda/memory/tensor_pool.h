// A GPU's memory for resident tensors: a pool of the driver's, apart from the one for scratch, so
// that tensors never take what reductions were promised.
//
// Memory once taken stays with the pool until the server ends: to take it again costs microseconds,
// and giving it back would wait for the device. Safe from any thread.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_TENSOR_POOL_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_TENSOR_POOL_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "absl/status/statusor.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/executor.h"

namespace warpfold {

class TensorPool {
 public:
  // Takes no memory yet.
  static absl::StatusOr<std::unique_ptr<TensorPool>> Make(int ordinal);

  // Memory for every stream of the GPU. Waits for the driver, not for work on the GPU. What it
  // returns must go before the pool. RESOURCE_EXHAUSTED: the GPU has not so much.
  absl::StatusOr<std::unique_ptr<TensorMemory>> Allocate(std::size_t size_bytes);

 private:
  class Memory;
  struct PoolDeleter {
    void operator()(cudaMemPool_t pool) const { (void)cudaMemPoolDestroy(pool); }
  };
  using UniquePool = std::unique_ptr<std::remove_pointer_t<cudaMemPool_t>, PoolDeleter>;

  explicit TensorPool(int ordinal) : ordinal_(ordinal) {}

  const int ordinal_;
  UniquePool pool_;
  cuda::UniqueStream stream_;  // in whose order memory is taken and given back
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_MEMORY_TENSOR_POOL_H_
