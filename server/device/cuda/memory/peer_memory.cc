#include "server/device/cuda/memory/peer_memory.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"

namespace warpfold {
namespace {

// What the driver says of a handle is the client's fault. Clears the error: the next call would
// report it.
absl::Status HandleError(cudaError_t error) {
  (void)cudaGetLastError();
  return InvalidField(Field::kHandle,
                      absl::StrCat("the driver cannot open it: ", cudaGetErrorString(error)));
}

// The bytes from `d_data` on to the end of its allocation; 0 when the driver does not know it. Only
// the driver's own interface tells, which the binary does not link.
std::int64_t BytesFrom(const void* d_data) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion(
      "cuMemGetAddressRange", &found, /*cudaVersion=*/12000, cudaEnableDefault, &result);
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return 0;
  const auto address_range = reinterpret_cast<PFN_cuMemGetAddressRange_v3020>(found);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(d_data);
  if (address_range(&base, &bytes, address) != CUDA_SUCCESS) return 0;
  return static_cast<std::int64_t>(bytes - (address - base));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerMemory>> CudaPeerMemory::Open(int ordinal,
                                                                 absl::string_view handle,
                                                                 std::int64_t size_bytes) {
  cudaIpcMemHandle_t raw;
  if (handle.size() != sizeof(raw)) {
    return InvalidField(Field::kHandle,
                        absl::StrCat("has ", handle.size(), " bytes, and not ", sizeof(raw)));
  }
  std::memcpy(&raw, handle.data(), sizeof(raw));
  if (const cudaError_t error = cudaSetDevice(ordinal); error != cudaSuccess) {
    return HandleError(error);
  }
  void* d_data = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&d_data, raw, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) return HandleError(error);
  std::unique_ptr<CudaPeerMemory> memory(
      new CudaPeerMemory(ordinal, static_cast<std::byte*>(d_data)));
  const std::int64_t bytes = BytesFrom(d_data);
  if (size_bytes > bytes) {
    return InvalidField(Field::kSizeBytes,
                        absl::StrCat(size_bytes, " are past the allocation's ", bytes, " bytes"));
  }
  absl::StatusOr<cuda::UniqueStream> stream = cuda::MakeStream();
  if (!stream.ok()) return absl::ResourceExhaustedError(stream.status().message());
  memory->stream_ = *std::move(stream);
  return memory;
}

CudaPeerMemory::~CudaPeerMemory() {
  (void)cudaSetDevice(ordinal_);
  (void)cudaIpcCloseMemHandle(d_data_);
  (void)cudaGetLastError();
}

absl::Status CudaPeerMemory::Write(std::int64_t offset_bytes, absl::string_view bytes) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal_);
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(d_data_ + offset_bytes, bytes.data(), bytes.size(),
                                                cudaMemcpyHostToDevice, stream_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
  return absl::OkStatus();
}

}  // namespace warpfold
