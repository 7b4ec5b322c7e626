// A tensor in memory that this process shares with a server on the same host: made by
// Client::Share, filled here, or this process's own memory on a GPU, made known by
// Client::ShareCuda; reduced by Client::Reduce as often as wanted without travelling at all.
//
//   auto shared = client->Share(v1::DTYPE_F32, {rows, columns}, {});
//   Fill(shared->data());
//   auto sums = client->Reduce(*shared, {.ops = {v1::OP_SUM}, .axes = {0}});
//
// The server's operator has to have allowed it (--shared-memory-prefix), and the server's user has
// to be able to open this process's segments (ShareOptions::mode). Memory on a GPU has to be
// allowed
// (--max-cuda-memory-bytes), to outlive its handle, and to be written before a reduction is asked
// for: docs/shared_memory.md.
//
// Thread safety: as a value; any number of reductions may use one at the same time, while nobody
// writes its bytes. A handle must not outlive its client.
#ifndef WARPFOLD_CLIENT_CPP_SHARED_TENSOR_H_
#define WARPFOLD_CLIENT_CPP_SHARED_TENSOR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

class Client;

class SharedTensor {
 public:
  SharedTensor(SharedTensor&& other) noexcept { *this = std::move(other); }
  SharedTensor& operator=(SharedTensor&& other) noexcept;
  // Unregisters the memory, in at most kUnregisterTimeout, and lets it go.
  ~SharedTensor();

  static constexpr std::chrono::milliseconds kUnregisterTimeout{2000};

  // Unregisters the memory now and says how that went; the bytes stay here. NOT_FOUND: the server
  // had it no longer.
  absl::Status Unregister();

  // The tensor's bytes, zeros at first. Empty when the handle is, or the tensor is on a GPU.
  std::span<std::byte> data() const { return bytes_; }
  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t size_bytes() const { return size_bytes_; }
  // The region's name on the server, random; empty once it is unregistered.
  const std::string& region() const { return region_; }

 private:
  friend class Client;
  SharedTensor(Client* client, DType dtype, std::vector<std::int64_t> shape,
               std::int64_t size_bytes)
      : client_(client), dtype_(dtype), shape_(std::move(shape)), size_bytes_(size_bytes) {}

  // Makes the segment `key` of `size` bytes and maps it.
  // RESOURCE_EXHAUSTED: the system has not so much.
  absl::Status MakeSegment(const std::string& key, std::size_t size, unsigned int mode);
  absl::Status Unregister(std::chrono::milliseconds timeout);
  void Unmap();

  Client* client_ = nullptr;
  std::string region_;
  DType dtype_ = v1::DTYPE_UNSPECIFIED;
  std::vector<std::int64_t> shape_;
  std::int64_t size_bytes_ = 0;
  std::span<std::byte> bytes_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_SHARED_TENSOR_H_
