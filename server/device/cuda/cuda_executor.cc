#include "server/device/cuda/cuda_executor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/architectures.h"
#include "kernels/cuda/device.h"
#include "server/device/cuda/cuda_batch_worker.h"
#include "server/device/cuda/cuda_worker.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/cuda/memory/peer_memory.h"
#include "server/device/cuda/memory/shared_mapping.h"

namespace warpfold {
namespace {

// What stays with the pool of what reductions have taken beyond what is set aside.
constexpr std::uint64_t kReductionsKept = 8;

// Requests that need more scratch than a worker owns allocate it in stream order; of what was once
// taken the pool keeps so much that such a request mostly costs microseconds, and one that needs no
// more than is set aside cannot fail for what others have taken since.
absl::Status SetScratchAside(int ordinal, std::size_t bytes) {
  cudaMemPool_t pool = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaDeviceGetDefaultMemPool(&pool, ordinal));
  std::uint64_t keep = kReductionsKept * bytes;
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  absl::StatusOr<cuda::UniqueStream> stream = cuda::MakeStream();
  if (!stream.ok()) return stream.status();
  void* memory = nullptr;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMallocAsync(&memory, bytes, stream->get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaFreeAsync(memory, stream->get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream->get()));
  return absl::OkStatus();
}

std::size_t ScratchBytesMax(const WorkerOptions& options, std::size_t memory_bytes) {
  if (!options.gpu_scratch_bytes) return options.scratch_bytes;
  if (*options.gpu_scratch_bytes > 0) return *options.gpu_scratch_bytes;
  // Statistics of 1.2 million columns of f64 that are sent fit 256 MiB before their sums were
  // exact, and take this much: a sixth of the smallest GPU's memory.
  constexpr std::size_t kEnough = std::size_t{5} << 29;
  return std::max({options.scratch_bytes, memory_bytes / 16, std::min(memory_bytes / 6, kEnough)});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> CudaExecutor::Open(int ordinal,
                                                             const WorkerOptions& options) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal);
  cudaDeviceProp properties;
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, ordinal));
  WorkerOptions of_workers = options;
  of_workers.scratch_bytes = ScratchBytesMax(options, properties.totalGlobalMem);
  const std::size_t set_aside = std::min(options.scratch_bytes, of_workers.scratch_bytes);
  if (absl::Status status = SetScratchAside(ordinal, set_aside); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<TensorPool>> tensors = TensorPool::Make(ordinal);
  if (!tensors.ok()) return tensors.status();
  std::unique_ptr<CudaExecutor> executor(new CudaExecutor(ordinal, of_workers));
  executor->info_ = {.name = absl::StrCat("cuda:", ordinal),
                     .model = properties.name,
                     .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
                     .ordinal = ordinal};
  const cuda::ComputeCapability capability{properties.major, properties.minor};
  if (cuda::CodeFor(capability).match == cuda::CodeMatch::kPtx) {
    executor->compiles_for_ = cuda::ToString(capability);
  }
  executor->tensors_ = *std::move(tensors);
  WARPFOLD_RETURN_IF_CUDA_ERROR(cuda::GetDeviceShape(ordinal, &executor->shape_));
  executor->shape_.overlaps_passes &= options.overlaps_passes;
  return executor;
}

absl::Status CudaExecutor::LoadKernels(DType dtype) {
  WARPFOLD_RETURN_IF_NOT_SET(info_.ordinal);
  WARPFOLD_RETURN_IF_CUDA_ERROR(cuda::LoadKernels(dtype));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Worker>> CudaExecutor::MakeWorker() {
  return CudaWorker::Make(ordinal_, shape_, options_, use_, suspended_bytes_);
}

bool CudaExecutor::Batches(const Plan& plan) const { return CudaBatchWorker::Batches(plan); }

absl::StatusOr<std::unique_ptr<BatchWorker>> CudaExecutor::MakeBatchWorker() {
  return CudaBatchWorker::Make(ordinal_, options_, use_);
}

absl::StatusOr<std::unique_ptr<TensorMemory>> CudaExecutor::AllocateTensor(std::size_t size_bytes) {
  return tensors_->Allocate(size_bytes);
}

absl::StatusOr<std::unique_ptr<TensorMemory>> CudaExecutor::MapShared(int descriptor,
                                                                      std::int64_t offset_bytes,
                                                                      std::size_t size_bytes) {
  return SharedMapping::Make(ordinal_, descriptor, offset_bytes, size_bytes);
}

absl::StatusOr<std::unique_ptr<PeerMemory>> CudaExecutor::OpenPeer(absl::string_view handle,
                                                                   std::int64_t size_bytes) {
  return CudaPeerMemory::Open(ordinal_, handle, size_bytes);
}

}  // namespace warpfold
