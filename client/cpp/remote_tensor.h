// A tensor that stays on the server, as long as this object lives: made by Client::Put, reduced by
// Client::Reduce as often as wanted without travelling again.
//
// The server lets it go by itself when nobody has used it for its time to live, or with its device:
// then reductions get NOT_FOUND, and the tensor has to be put again.
//
// Thread safety: as a value; any number of reductions may use one at the same time. A handle must
// not outlive its client.
#ifndef WARPFOLD_CLIENT_CPP_REMOTE_TENSOR_H_
#define WARPFOLD_CLIENT_CPP_REMOTE_TENSOR_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

class Client;

class RemoteTensor {
 public:
  RemoteTensor(RemoteTensor&& other) noexcept { *this = std::move(other); }
  RemoteTensor& operator=(RemoteTensor&& other) noexcept;
  // Deletes the tensor, in at most kDeleteTimeout; if that fails, its time to live ends it.
  ~RemoteTensor();

  static constexpr std::chrono::milliseconds kDeleteTimeout{2000};

  // Deletes the tensor now and says how that went: the handle is empty then. NOT_FOUND: it was gone
  // already.
  absl::Status Delete();

  // Lets go of the tensor without deleting it; its id, for another program.
  std::string Release();

  // Empty when the handle is.
  const std::string& id() const { return id_; }
  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }

 private:
  friend class Client;
  RemoteTensor(Client* client, std::string id, const TensorView& tensor)
      : client_(client), id_(std::move(id)), dtype_(tensor.dtype), shape_(tensor.shape) {}

  absl::Status Delete(std::chrono::milliseconds timeout);

  Client* client_ = nullptr;
  std::string id_;
  DType dtype_ = v1::DTYPE_UNSPECIFIED;
  std::vector<std::int64_t> shape_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_REMOTE_TENSOR_H_
