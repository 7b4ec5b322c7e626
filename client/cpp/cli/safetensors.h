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
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/named_tensor.h"

namespace warpfold::client {

inline constexpr std::size_t kSafetensorsLengthBytes = 8;
inline constexpr std::size_t kSafetensorsHeaderBytesMax = 100'000'000;

struct SafetensorsEntry {
  NamedTensor tensor;     // without data
  std::size_t begin = 0;  // of its data, from the header's end
  std::size_t end = 0;
};

// The length of the header that follows `start`, a file's first kSafetensorsLengthBytes.
absl::StatusOr<std::size_t> SafetensorsHeaderBytes(std::span<const std::byte> start);

// What the header `text` says of at most `data_bytes` of data, in their order. That the last entry
// ends where the data do is not looked at: CheckSafetensorsRest.
absl::StatusOr<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view text,
                                                                     std::size_t data_bytes);

// `rest`: bytes after the last entry's.
absl::Status CheckSafetensorsRest(std::size_t rest);

// The tensors of `file`, the bytes of a whole .safetensors file, in the order of their data. The
// views refer to `file`.
absl::StatusOr<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> file);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_SAFETENSORS_H_
