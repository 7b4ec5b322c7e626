// Raw bytes as a tensor: C order, little-endian, without a header. What they are is the user's to
// say.
//
// Thread safety: pure functions. Failure: INVALID_ARGUMENT.
#ifndef WARPFOLD_CLIENT_CPP_CLI_RAW_H_
#define WARPFOLD_CLIENT_CPP_CLI_RAW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

// `bytes` as elements of `dtype`; an empty shape is one axis of all of them.
absl::StatusOr<TensorView> ParseRaw(DType dtype, const std::vector<std::int64_t>& shape,
                                    std::span<const std::byte> bytes);

// Whether so many bytes are whole elements.
absl::Status CheckWholeElements(DType dtype, std::size_t bytes);
// Whether they are a tensor of `shape`.
absl::Status CheckRawBytes(DType dtype, const std::vector<std::int64_t>& shape, std::size_t bytes);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_RAW_H_
