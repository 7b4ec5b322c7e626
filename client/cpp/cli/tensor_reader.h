// The bytes of a tensor as the service takes them (C order, little-endian), from the first to the
// last.
//
// Thread safety: one thread at a time. Failure: absl::Status, without the tensor's name.
#ifndef WARPFOLD_CLIENT_CPP_CLI_TENSOR_READER_H_
#define WARPFOLD_CLIENT_CPP_CLI_TENSOR_READER_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

namespace warpfold::client {

class TensorReader {
 public:
  virtual ~TensorReader() = default;

  // Reads `into`, whole elements, full; fewer bytes only at the end of a tensor whose length nobody
  // knew before. INVALID_ARGUMENT: what should be there is not.
  virtual absl::StatusOr<std::size_t> Read(std::span<std::byte> into) = 0;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_TENSOR_READER_H_
