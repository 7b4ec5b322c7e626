#include "client/cpp/tensor.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/catalogue.h"

namespace warpfold::client {
namespace {

std::string LowerCaseAfter(const std::string& name, std::size_t prefix_length) {
  std::string lower = name.substr(prefix_length);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// The contract's name of what NumPy and safetensors call a dtype, if it is one: "f32" of "float32".
std::string ShortDTypeName(std::string_view name) {
  std::string lower = LowerCaseAfter(std::string(name), 0);
  for (const auto& [word, letter] : {std::pair("bfloat", "bf"), std::pair("float", "f"),
                                     std::pair("uint", "u"), std::pair("int", "i")}) {
    if (lower.starts_with(word)) return lower.replace(0, std::string_view(word).size(), letter);
  }
  return lower;
}

}  // namespace

std::size_t ElementBytes(DType dtype) {
  // proto3 enums are open: a newer server may send a number that this client does not know.
  const DTypeRow* row = RowOf(dtype);
  return row != nullptr ? row->bytes : 0;
}

std::string Name(DType dtype) {
  if (!v1::DType_IsValid(dtype)) return absl::StrCat("dtype ", static_cast<int>(dtype));
  return LowerCaseAfter(v1::DType_Name(dtype), sizeof("DTYPE_") - 1);
}

std::string Name(Op op) {
  if (!v1::Op_IsValid(op)) return absl::StrCat("op ", static_cast<int>(op));
  return LowerCaseAfter(v1::Op_Name(op), sizeof("OP_") - 1);
}

absl::StatusOr<DType> ParseDType(std::string_view name) {
  std::vector<std::string> names;
  for (const DTypeRow& row : kDTypeRows) {
    names.push_back(Name(row.dtype));
    if (names.back() == name) return row.dtype;
  }
  const std::string meant = ShortDTypeName(name);
  const bool is_known = std::find(names.begin(), names.end(), meant) != names.end();
  return absl::InvalidArgumentError(
      absl::StrCat("dtype: '", std::string(name), "' is none of ", absl::StrJoin(names, ", "),
                   is_known ? absl::StrCat("; did you mean ", meant, "?") : ""));
}

absl::StatusOr<Op> ParseOp(std::string_view name) {
  std::vector<std::string> names;
  for (int number = v1::OP_UNSPECIFIED + 1; number <= v1::Op_MAX; ++number) {
    if (!v1::Op_IsValid(number)) continue;
    names.push_back(Name(static_cast<Op>(number)));
    if (names.back() == name) return static_cast<Op>(number);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("op: '", std::string(name), "' is none of ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::int64_t> ElementCount(std::span<const std::int64_t> shape) {
  std::int64_t count_without_zeros = 1;
  bool has_zero = false;
  for (const std::int64_t length : shape) {
    if (length < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape: ", ShapeText(shape), " has a negative dimension"));
    }
    if (length == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(count_without_zeros, length, &count_without_zeros)) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape: the product of ", ShapeText(shape), " does not fit 63 bits"));
    }
  }
  return has_zero ? 0 : count_without_zeros;
}

absl::StatusOr<std::int64_t> TensorBytes(DType dtype, std::span<const std::int64_t> shape) {
  const auto element_bytes = static_cast<std::int64_t>(ElementBytes(dtype));
  if (element_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("dtype: ", Name(dtype), " has no size"));
  }
  absl::StatusOr<std::int64_t> count = ElementCount(shape);
  if (!count.ok()) return count;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(*count, element_bytes, &bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape: the bytes of ", ShapeText(shape), " do not fit 63 bits"));
  }
  return bytes;
}

absl::Status CheckWhole(const TensorView& tensor) {
  const absl::StatusOr<std::int64_t> bytes = TensorBytes(tensor.dtype, tensor.shape);
  if (!bytes.ok()) return bytes.status();
  if (static_cast<std::size_t>(*bytes) == tensor.data.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("data: ", tensor.data.size(), " bytes, but ",
                                                 Name(tensor.dtype), " ", ShapeText(tensor.shape),
                                                 " is ", *bytes));
}

v1::TensorSpec SpecOf(const TensorView& tensor) {
  v1::TensorSpec spec;
  spec.set_dtype(tensor.dtype);
  spec.mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
  return spec;
}

std::string ShapeText(std::span<const std::int64_t> shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "), shape.size() == 1 ? ",)" : ")");
}

}  // namespace warpfold::client
