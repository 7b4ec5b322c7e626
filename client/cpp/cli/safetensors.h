// .safetensors files: many named tensors, a JSON header before them.
//
// Format: 8 bytes, little-endian, the header's length; the header, a JSON object {name: {dtype,
// shape, data_offsets}} with an optional "__metadata__" of strings; then the data, where offsets
// count from the header's end. As in the reference implementation the header has at most
// 100,000,000 bytes, no name comes twice, and the tensors cover the data exactly: without overlaps,
// holes, or a rest.
//
// Thread safety: pure. Failure: INVALID_ARGUMENT naming the tensor; nothing in a file makes the
// parser crash, read past its end, or use more than linear time and memory.
#ifndef WARPFOLD_CLIENT_CPP_CLI_SAFETENSORS_H_
#define WARPFOLD_CLIENT_CPP_CLI_SAFETENSORS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/named_tensor.h"

namespace warpfold::client {

inline constexpr std::size_t kSafetensorsHeaderBytesMax = 100'000'000;

// The tensors of `file`, the bytes of a whole .safetensors file, in the order of their data. The
// views refer to `file`.
absl::StatusOr<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> file);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_SAFETENSORS_H_
