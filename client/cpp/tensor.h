// What a tensor is on the client's side: views that lend bytes to a request, tensors that own an
// answer's bytes, and the names and sizes of the contract's element types and ops.
//
// The element types and ops are those of proto/warpfold/v1/reduction.proto, all of them: which of
// them a server has is the server's to say (GetServerInfo), so that a client need not be rebuilt
// when the server learns a new one.
//
// Thread safety: plain values and pure functions. Failure: absl::Status, INVALID_ARGUMENT with the
// field's name first.
#ifndef WARPFOLD_CLIENT_CPP_TENSOR_H_
#define WARPFOLD_CLIENT_CPP_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::client {

using v1::DType;
using v1::Op;

// A tensor that somebody else owns. C order, little-endian, no padding, any alignment.
struct TensorView {
  DType dtype = v1::DTYPE_UNSPECIFIED;
  std::vector<std::int64_t> shape;  // outermost first; empty is a scalar
  std::span<const std::byte> data;  // exactly TensorBytes(dtype, shape)
};

// Which part of a larger tensor is reduced: reduction.proto's Part.
struct PartOfWhole {
  std::vector<std::int64_t> whole_shape = {};
  std::vector<std::int64_t> offset = {};  // where it begins, for each dimension of the whole
};

// A tensor that owns its bytes.
struct Tensor {
  DType dtype = v1::DTYPE_UNSPECIFIED;
  std::vector<std::int64_t> shape;
  std::string data;
};

// Bytes of one element; 0 for a dtype that the contract does not have.
std::size_t ElementBytes(DType dtype);

// "f32", "sum": the contract's names in lower case, as in flags and output. "dtype 99" for one that
// it does not have.
std::string Name(DType dtype);
std::string Name(Op op);

// The element type that `name` names, in lower case. INVALID_ARGUMENT lists the names there are.
absl::StatusOr<DType> ParseDType(std::string_view name);

// The op that `name` names, in lower case. INVALID_ARGUMENT lists the names there are.
absl::StatusOr<Op> ParseOp(std::string_view name);

// Elements of a tensor of `shape`. INVALID_ARGUMENT `shape` when a dimension is negative or the
// product, over the dimensions that are not 0, does not fit 63 bits.
absl::StatusOr<std::int64_t> ElementCount(std::span<const std::int64_t> shape);

// Bytes of a tensor. INVALID_ARGUMENT as ElementCount, and when the bytes do not fit 63 bits or the
// dtype is unknown.
absl::StatusOr<std::int64_t> TensorBytes(DType dtype, std::span<const std::int64_t> shape);

// OK when the view has the bytes of its dtype and shape; INVALID_ARGUMENT `data` or as TensorBytes.
absl::Status CheckWhole(const TensorView& tensor);

// The view without its bytes, as messages have it.
v1::TensorSpec SpecOf(const TensorView& tensor);

// "(3, 4)", "(3,)", "()": a shape as NumPy writes it.
std::string ShapeText(std::span<const std::int64_t> shape);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_TENSOR_H_
