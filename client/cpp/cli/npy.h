// NumPy's .npy files: one array, a small text header before it.
//
// Format: numpy.org/devdocs/reference/generated/numpy.lib.format.html, versions 1.0, 2.0 and 3.0.
// The header is a Python dictionary literal with exactly the keys descr, fortran_order and shape.
// Accepted: numbers and bools whose dtype is in the contract, in any layout (layout.h). Refused
// with a reason: objects, records, complex numbers, text, times, too few bytes, bytes left over.
//
// Thread safety: pure functions. Failure: INVALID_ARGUMENT, and UNIMPLEMENTED for an array that is
// one and cannot be reduced; nothing in a file makes the parser
// crash or read past its end.
#ifndef WARPFOLD_CLIENT_CPP_CLI_NPY_H_
#define WARPFOLD_CLIENT_CPP_CLI_NPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/cli/layout.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

struct NpyHeader {
  DType dtype = v1::DTYPE_UNSPECIFIED;
  std::vector<std::int64_t> shape;
  std::size_t data_bytes = 0;  // as dtype and shape say
  Layout layout = {};
};

struct NpyArray {
  TensorView view;
  Layout layout;
};

// How many bytes a file that begins with `start` needs before ParseNpyHeader can read its header:
// more than `start` has, or all of them.
absl::StatusOr<std::size_t> NpyHeaderBytes(std::span<const std::byte> start);

// The header in `start`, the first NpyHeaderBytes of a file. `of_void`: what elements are that the
// file calls bytes alone ('V1', 'V2'), as NumPy does those of dtypes that it does not have.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::span<const std::byte> start,
                                         std::optional<DType> of_void = std::nullopt);

// The array in `file`, the bytes of a whole .npy file. The view refers to `file`'s memory.
absl::StatusOr<NpyArray> ParseNpy(std::span<const std::byte> file,
                                  std::optional<DType> of_void = std::nullopt);

// What a file has whose data are `data_bytes` and not what its header says: "truncated: ...".
absl::Status CheckNpyData(const NpyHeader& header, std::size_t data_bytes);

// The bytes of a .npy file that holds `tensor`. UNIMPLEMENTED for bf16 and floats of 8 bits, which
// NumPy does not have.
absl::StatusOr<std::string> NpyBytes(const Tensor& tensor);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_NPY_H_
