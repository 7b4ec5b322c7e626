#include "server/frontend/kserve/typed_contents.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/device/host_bytes.h"
#include "server/frontend/kserve/datatype.h"

namespace warpfold::kserve {
namespace {

// Elements in all fields together.
int CountOf(const inference::InferTensorContents& contents) {
  return contents.bool_contents_size() + contents.int_contents_size() +
         contents.int64_contents_size() + contents.uint_contents_size() +
         contents.uint64_contents_size() + contents.fp32_contents_size() +
         contents.fp64_contents_size() + contents.bytes_contents_size();
}

// The elements of `field` as those of type T, which `name` is called.
template <typename T, typename Field>
absl::StatusOr<std::string> Packed(const inference::InferTensorContents& contents,
                                   const Field& field, const char* field_name, DType dtype) {
  if (CountOf(contents) != field.size()) {
    return absl::InvalidArgumentError(absl::StrCat("inputs.contents: elements of ",
                                                   DatatypeName(dtype), " belong into ", field_name,
                                                   " alone"));
  }
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(field.size()) * sizeof(T));
  for (const auto element : field) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<decltype(element), const bool>) {
      if (!std::in_range<T>(element)) {
        return absl::InvalidArgumentError(
            absl::StrCat("inputs.contents: ", element, " does not fit in ", DatatypeName(dtype)));
      }
    }
    const T value = static_cast<T>(element);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  return bytes;
}

absl::StatusOr<std::string> PackedAs(const inference::InferTensorContents& contents, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return Packed<std::uint8_t>(contents, contents.bool_contents(), "bool_contents", dtype);
    case DType::kI8:
      return Packed<std::int8_t>(contents, contents.int_contents(), "int_contents", dtype);
    case DType::kI16:
      return Packed<std::int16_t>(contents, contents.int_contents(), "int_contents", dtype);
    case DType::kI32:
      return Packed<std::int32_t>(contents, contents.int_contents(), "int_contents", dtype);
    case DType::kI64:
      return Packed<std::int64_t>(contents, contents.int64_contents(), "int64_contents", dtype);
    case DType::kU8:
      return Packed<std::uint8_t>(contents, contents.uint_contents(), "uint_contents", dtype);
    case DType::kU16:
      return Packed<std::uint16_t>(contents, contents.uint_contents(), "uint_contents", dtype);
    case DType::kU32:
      return Packed<std::uint32_t>(contents, contents.uint_contents(), "uint_contents", dtype);
    case DType::kU64:
      return Packed<std::uint64_t>(contents, contents.uint64_contents(), "uint64_contents", dtype);
    case DType::kF32:
      return Packed<float>(contents, contents.fp32_contents(), "fp32_contents", dtype);
    case DType::kF64:
      return Packed<double>(contents, contents.fp64_contents(), "fp64_contents", dtype);
    case DType::kF16:
    case DType::kBF16:
      return absl::InvalidArgumentError(absl::StrCat("inputs.contents: ", DatatypeName(dtype),
                                                     " travels in raw_input_contents only"));
  }
  __builtin_unreachable();
}

}  // namespace

absl::StatusOr<std::string> BytesOf(const inference::InferTensorContents& contents, DType dtype) {
  return OrNoHostMemory([&] { return PackedAs(contents, dtype); });
}

}  // namespace warpfold::kserve
