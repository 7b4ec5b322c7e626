// How a file's bytes may lie where they are not as the service takes them (C order, little-endian),
// and what turns them into that, or an answer of them into the array's.
//
// An array in Fortran order is one in C order of the reversed shape, so nothing is moved but
// results: axes count from the other end.
//
// Thread safety: pure functions.
#ifndef WARPFOLD_CLIENT_CPP_CLI_LAYOUT_H_
#define WARPFOLD_CLIENT_CPP_CLI_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/client.h"

namespace warpfold::client {

struct Layout {
  bool is_big_endian = false;  // never of elements of one byte
  bool is_fortran = false;     // never of one axis, or none

  bool operator==(const Layout&) const = default;
};

// Turns each element around. REQUIRES: whole elements of 2, 4 or 8 bytes.
void SwapBytes(std::size_t element_bytes, std::span<std::byte> bytes);

// What to ask of the reversed array for the answer to `options` of an array of `shape`. Axes that
// are none stay as they are. UNIMPLEMENTED: the first of equal elements is another one in Fortran
// order, which ARGMIN and ARGMAX over several axes would tell.
absl::StatusOr<ReduceOptions> ReversedOptions(const ReduceOptions& options,
                                              const std::vector<std::int64_t>& shape);

// Where element `at` of an array of `shape` is in its transpose.
std::int64_t ReversedPlace(std::int64_t at, std::span<const std::int64_t> shape);

// The transpose: the axes in reversed order, but for the last `trailing_dims`, which stay where
// they are.
Tensor Reversed(const Tensor& tensor, int trailing_dims);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_LAYOUT_H_
