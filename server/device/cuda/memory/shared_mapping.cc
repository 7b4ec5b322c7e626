#include "server/device/cuda/memory/shared_mapping.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/device/cuda/memory/cuda_resources.h"

namespace warpfold {
namespace {

// Whether registering memory pins it. Makes the GPU this thread's.
absl::StatusOr<bool> Pins(int ordinal) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal);
  int takes_registered = 0;
  int reads_host_tables = 0;
  WARPFOLD_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&takes_registered, cudaDevAttrHostRegisterSupported, ordinal));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(
      &reads_host_tables, cudaDevAttrPageableMemoryAccessUsesHostPageTables, ordinal));
  return takes_registered != 0 && reads_host_tables == 0;
}

// What the driver would not do: nobody's fault but the segment's, which may have been truncated in
// this moment, or the system's limits'. A device that is lost tells its workers.
absl::Status RegisterError(cudaError_t error) {
  (void)cudaGetLastError();
  const std::string message =
      absl::StrCat("the driver cannot lock the segment's pages: ", cudaGetErrorString(error));
  if (error == cudaErrorMemoryAllocation) {
    return FieldStatus(Field::kKey, absl::ResourceExhaustedError(message));
  }
  return FieldStatus(Field::kKey, absl::FailedPreconditionError(message));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TensorMemory>> SharedMapping::Make(int ordinal, int descriptor,
                                                                  std::int64_t offset_bytes,
                                                                  std::size_t size_bytes) {
  const absl::StatusOr<bool> pins = Pins(ordinal);
  if (!pins.ok()) return absl::FailedPreconditionError(pins.status().message());
  if (!*pins) return nullptr;
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = static_cast<std::size_t>(offset_bytes) % page_bytes;
  const std::size_t mapped_bytes = (begin + size_bytes + page_bytes - 1) / page_bytes * page_bytes;
  void* pages = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                     offset_bytes - static_cast<std::int64_t>(begin));
  if (pages == MAP_FAILED) {
    return FieldStatus(Field::kKey, absl::ResourceExhaustedError(absl::StrCat(
                                        "cannot map the segment: ", std::strerror(errno))));
  }
  std::unique_ptr<SharedMapping> mapping(
      new SharedMapping(static_cast<std::byte*>(pages), mapped_bytes, begin));
  const cudaError_t error = cudaHostRegister(pages, mapped_bytes, cudaHostRegisterPortable);
  if (error != cudaSuccess) return RegisterError(error);
  mapping->is_registered_ = true;
  return mapping;
}

SharedMapping::~SharedMapping() {
  if (is_registered_) (void)cudaHostUnregister(pages_);
  munmap(pages_, mapped_bytes_);
}

}  // namespace warpfold
