#include "server/device/cuda/memory/tensor_pool.h"

#include <cstdint>
#include <limits>

namespace warpfold {

class TensorPool::Memory final : public TensorMemory {
 public:
  Memory(int ordinal, void* d_data, cudaStream_t stream)
      : ordinal_(ordinal), d_data_(d_data), stream_(stream) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() override {
    (void)cudaSetDevice(ordinal_);
    (void)cudaFreeAsync(d_data_, stream_);
  }
  std::byte* data() const override { return static_cast<std::byte*>(d_data_); }

 private:
  const int ordinal_;
  void* const d_data_;
  const cudaStream_t stream_;
};

absl::StatusOr<std::unique_ptr<TensorPool>> TensorPool::Make(int ordinal) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal);
  std::unique_ptr<TensorPool> made(new TensorPool(ordinal));
  absl::StatusOr<cuda::UniqueStream> stream = cuda::MakeStream();
  if (!stream.ok()) return stream.status();
  made->stream_ = *std::move(stream);

  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  cudaMemPool_t pool = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemPoolCreate(&pool, &properties));
  made->pool_.reset(pool);
  std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  return made;
}

absl::StatusOr<std::unique_ptr<TensorMemory>> TensorPool::Allocate(std::size_t size_bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal_);
  void* d_data = nullptr;
  cudaError_t error = cudaMallocFromPoolAsync(&d_data, size_bytes, pool_.get(), stream_.get());
  if (error == cudaErrorMemoryAllocation) {
    // What the pool keeps may be in pieces too small for this one.
    (void)cudaGetLastError();
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemPoolTrimTo(pool_.get(), 0));
    error = cudaMallocFromPoolAsync(&d_data, size_bytes, pool_.get(), stream_.get());
  }
  WARPFOLD_RETURN_IF_CUDA_ERROR(error);
  auto memory = std::make_unique<Memory>(ordinal_, d_data, stream_.get());
  // Other streams may use it from here on.
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
  return memory;
}

}  // namespace warpfold
