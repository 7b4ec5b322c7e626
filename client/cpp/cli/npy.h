// NumPy's .npy files: one array, a small text header before it.
//
// Format: numpy.org/devdocs/reference/generated/numpy.lib.format.html, versions 1.0, 2.0 and 3.0.
// The header is a Python dictionary literal with exactly the keys descr, fortran_order and shape.
// Accepted: little-endian numbers and bools in C order whose dtype is in the contract. Refused with
// a reason: Fortran order, big-endian, objects, records, complex numbers, text, times, too few
// bytes, bytes left over.
//
// Thread safety: pure functions. Failure: INVALID_ARGUMENT; nothing in a file makes the parser
// crash or read past its end.
#ifndef WARPFOLD_CLIENT_CPP_CLI_NPY_H_
#define WARPFOLD_CLIENT_CPP_CLI_NPY_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

// The array in `file`, the bytes of a whole .npy file. The view refers to `file`'s memory.
absl::StatusOr<TensorView> ParseNpy(std::span<const std::byte> file);

// The bytes of a .npy file that holds `tensor`. UNIMPLEMENTED for bf16, which NumPy does not have.
absl::StatusOr<std::string> NpyBytes(const Tensor& tensor);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_NPY_H_
