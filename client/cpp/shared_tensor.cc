// SharedTensor, and those methods of Client that have to do with one.
#include "client/cpp/shared_tensor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"
#include "client/cpp/connection.h"
#include "warpfold/v1/tensor.pb.h"

namespace warpfold::client {
namespace {

// A name that nobody else has.
absl::StatusOr<std::string> RandomName() {
  std::array<char, 16> bits{};
  if (getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) {
    return absl::InternalError("the system has no random bits");
  }
  return absl::BytesToHexString(absl::string_view(bits.data(), bits.size()));
}

absl::Status SystemError(const char* what, int error) {
  return absl::ResourceExhaustedError(
      absl::StrCat("shared memory: cannot ", what, ": ", std::strerror(error)));
}

}  // namespace

absl::Status SharedTensor::MakeSegment(const std::string& key, std::size_t size,
                                       unsigned int mode) {
  const int descriptor = shm_open(key.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor < 0) return SystemError("make a segment", errno);
  // Past the umask. And all its memory is taken now: a page that is missing later is a SIGBUS.
  absl::Status status;
  if (fchmod(descriptor, mode) != 0) status = SystemError("set the mode", errno);
  if (status.ok()) {
    const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(size));
    if (error != 0) status = SystemError("take memory", error);
  }
  if (status.ok()) {
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) {
      status = SystemError("map the segment", errno);
    } else {
      bytes_ = std::span(static_cast<std::byte*>(mapped), size);
    }
  }
  close(descriptor);
  if (!status.ok()) shm_unlink(key.c_str());
  return status;
}

SharedTensor& SharedTensor::operator=(SharedTensor&& other) noexcept {
  if (this == &other) return *this;
  Unregister(kUnregisterTimeout).IgnoreError();
  Unmap();
  client_ = other.client_;
  region_ = std::exchange(other.region_, std::string());
  dtype_ = other.dtype_;
  shape_ = std::move(other.shape_);
  size_bytes_ = other.size_bytes_;
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

SharedTensor::~SharedTensor() {
  Unregister(kUnregisterTimeout).IgnoreError();
  Unmap();
}

void SharedTensor::Unmap() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
}

absl::Status SharedTensor::Unregister() { return Unregister(client_->options_.timeout); }

absl::Status SharedTensor::Unregister(std::chrono::milliseconds timeout) {
  if (region_.empty()) return absl::OkStatus();
  v1::UnregisterMemoryRequest request;
  request.set_name(std::exchange(region_, std::string()));
  v1::UnregisterMemoryResponse response;
  return client_->CallPlain(kUnregisterMemoryMethod, request, timeout, {}, &response);
}

absl::StatusOr<SharedTensor> Client::Share(DType dtype, const std::vector<std::int64_t>& shape,
                                           const ShareOptions& options) {
  const std::string& prefix = info_.shared_memory_prefix();
  if (prefix.empty()) return absl::UnimplementedError("the server takes no shared memory");
  const absl::StatusOr<std::int64_t> size = TensorBytes(dtype, shape);
  if (!size.ok()) return size.status();
  if (*size == 0) return absl::InvalidArgumentError("shape: there is nothing to share");
  absl::StatusOr<std::string> name = RandomName();
  if (!name.ok()) return name.status();
  v1::RegisterSharedMemoryRequest request;
  request.set_request_id(options.request_id);
  request.set_name(*name);
  request.set_key(absl::StrCat(absl::StartsWith(prefix, "/") ? "" : "/", prefix, *name));
  request.set_size_bytes(*size);
  SharedTensor shared(this, dtype, shape, *size);
  absl::Status status =
      shared.MakeSegment(request.key(), static_cast<std::size_t>(*size), options.mode);
  if (!status.ok()) return status;
  shared.region_ = *std::move(name);  // from here on a failure unregisters it
  v1::RegisterSharedMemoryResponse response;
  status =
      CallPlain(kRegisterSharedMemoryMethod, request, options.timeout, options.stop, &response);
  shm_unlink(request.key().c_str());
  // Nobody else has the name: an answer that was lost was a success.
  if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
  return shared;
}

absl::StatusOr<SharedTensor> Client::ShareCuda(const CudaMemory& memory, DType dtype,
                                               const std::vector<std::int64_t>& shape,
                                               const ShareOptions& options) {
  const absl::StatusOr<std::int64_t> size = TensorBytes(dtype, shape);
  if (!size.ok()) return size.status();
  absl::StatusOr<std::string> name = RandomName();
  if (!name.ok()) return name.status();
  v1::RegisterCudaMemoryRequest request;
  request.set_request_id(options.request_id);
  request.set_name(*name);
  request.set_handle(memory.handle);
  request.set_device_ordinal(memory.device_ordinal);
  request.set_size_bytes(*size);
  SharedTensor shared(this, dtype, shape, *size);
  shared.region_ = *std::move(name);  // from here on a failure unregisters it
  v1::RegisterCudaMemoryResponse response;
  absl::Status status =
      CallPlain(kRegisterCudaMemoryMethod, request, options.timeout, options.stop, &response);
  // As above.
  if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
  return shared;
}

absl::StatusOr<ReduceAnswer> Client::Reduce(const SharedTensor& tensor,
                                            const ReduceOptions& options) {
  v1::ReduceRequest request;
  v1::Source& source = *request.add_sources();
  *source.mutable_tensor() = SpecOf({tensor.dtype(), tensor.shape(), tensor.data()});
  source.mutable_memory()->set_name(tensor.region());
  source.mutable_memory()->set_size_bytes(tensor.size_bytes());
  return ReduceFrom(std::move(request), options);
}

}  // namespace warpfold::client
