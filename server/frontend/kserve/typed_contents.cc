#include "server/frontend/kserve/typed_contents.h"

#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/dtypes/catalogue.h"
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

// Each type has one field, of the smallest that holds it.
absl::StatusOr<std::string> PackedAs(const inference::InferTensorContents& contents, DType dtype) {
  return VisitDType(dtype, [&](auto tag) -> absl::StatusOr<std::string> {
    using T = typename decltype(tag)::type;
    constexpr bool kIsComputeBound = sizeof(T) == sizeof(std::int64_t);
    if constexpr (std::is_same_v<T, Bool>) {
      return Packed<std::uint8_t>(contents, contents.bool_contents(), "bool_contents", dtype);
    } else if constexpr (std::is_same_v<T, float>) {
      return Packed<T>(contents, contents.fp32_contents(), "fp32_contents", dtype);
    } else if constexpr (std::is_same_v<T, double>) {
      return Packed<T>(contents, contents.fp64_contents(), "fp64_contents", dtype);
    } else if constexpr (!std::is_integral_v<T>) {
      return absl::InvalidArgumentError(absl::StrCat("inputs.contents: ", DatatypeName(dtype),
                                                     " travels in raw_input_contents only"));
    } else if constexpr (std::is_signed_v<T>) {
      if constexpr (kIsComputeBound) {
        return Packed<T>(contents, contents.int64_contents(), "int64_contents", dtype);
      } else {
        return Packed<T>(contents, contents.int_contents(), "int_contents", dtype);
      }
    } else if constexpr (kIsComputeBound) {
      return Packed<T>(contents, contents.uint64_contents(), "uint64_contents", dtype);
    } else {
      return Packed<T>(contents, contents.uint_contents(), "uint_contents", dtype);
    }
  });
}

}  // namespace

absl::StatusOr<std::string> BytesOf(const inference::InferTensorContents& contents, DType dtype) {
  return OrNoHostMemory([&] { return PackedAs(contents, dtype); });
}

}  // namespace warpfold::kserve
