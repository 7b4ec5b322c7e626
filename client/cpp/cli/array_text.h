// A tensor as NumPy prints it: nested brackets, columns aligned, the middle of a long one left out.
//
// Thread safety: pure.
#ifndef WARPFOLD_CLIENT_CPP_CLI_ARRAY_TEXT_H_
#define WARPFOLD_CLIENT_CPP_CLI_ARRAY_TEXT_H_

#include <string>

#include "client/cpp/tensor.h"

namespace warpfold::client {

// NumPy's own defaults: above 1000 elements only the first and last 3 along each axis are shown.
inline constexpr std::int64_t kSummaryThreshold = 1000;
inline constexpr std::int64_t kSummaryEdge = 3;

// "6.0" for a scalar, "[[1. 2.]\n [3. 4.]]" for a matrix, "[]" for no elements. REQUIRES: data fits
// dtype and shape.
std::string ArrayText(const Tensor& tensor);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_ARRAY_TEXT_H_
