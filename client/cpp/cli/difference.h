// How much two tensors of one shape differ, element by element, however each lies in its file:
// computed here, from the bytes of both, in bounded memory. Floats of two dtypes are compared as
// doubles, which hold all of them.
//
// Thread safety: pure.
#ifndef WARPFOLD_CLIENT_CPP_CLI_DIFFERENCE_H_
#define WARPFOLD_CLIENT_CPP_CLI_DIFFERENCE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/cpp/cli/named_tensor.h"

namespace warpfold::client {

struct Difference {
  std::int64_t changed = 0;  // elements with other bits; of two dtypes, with another value
  double max_abs = 0;        // of a - b; NaN where exactly one of two is, or two infinities differ
  std::int64_t max_at = 0;   // the first element, in C order, that has it
  double relative_l2 = 0;    // the L2 norm of a - b by that of a; infinite when only a's is 0
};

// Whether DifferenceOf can compare a tensor of `a` with one of `b`: the contract has the dtype that
// both are, or both are floats.
bool AreComparable(DType a, DType b);

// REQUIRES: `a` and `b` have one shape, and their dtypes are comparable.
Difference DifferenceOf(const NamedTensor& a, const NamedTensor& b);

// Whether `left` is more than `right`: NaN is more than any number.
bool IsMore(double left, double right);

// The index of element `at` of a tensor of `shape`.
std::vector<std::int64_t> IndexOf(std::int64_t at, std::span<const std::int64_t> shape);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_DIFFERENCE_H_
