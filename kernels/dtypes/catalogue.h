// The catalogue of dtypes: a row each, and at the same place of ElementTypes its C++ type. Whatever
// names a dtype on the wire or in a file's format reads it here.
#ifndef WARPFOLD_KERNELS_DTYPES_CATALOGUE_H_
#define WARPFOLD_KERNELS_DTYPES_CATALOGUE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/dtypes/element.h"

namespace warpfold {

enum class DType : std::uint8_t {
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kF8E4M3,
  kF8E5M2
};

using ElementTypes = std::tuple<Bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, Half,
                                BFloat16, float, double, F8E4M3, F8E5M2>;

// Names are those of each format; an empty one says that the format does not have the dtype.
struct DTypeRow {
  DType dtype;
  int number;               // in reduction.proto's DType
  const char* name;         // in flags, metrics and messages; in upper case reduction.proto's
  const char* numpy;        // of NumPy, or of ml_dtypes
  const char* npy;          // in a .npy file, without the byte order
  const char* safetensors;  // in a .safetensors file
  const char* kserve;       // in the open inference protocol
};

inline constexpr DTypeRow kDTypeRows[] = {
    {DType::kBool, 1, "bool", "bool", "b1", "BOOL", "BOOL"},
    {DType::kI8, 2, "i8", "int8", "i1", "I8", "INT8"},
    {DType::kU8, 3, "u8", "uint8", "u1", "U8", "UINT8"},
    {DType::kI16, 4, "i16", "int16", "i2", "I16", "INT16"},
    {DType::kU16, 5, "u16", "uint16", "u2", "U16", "UINT16"},
    {DType::kI32, 6, "i32", "int32", "i4", "I32", "INT32"},
    {DType::kU32, 7, "u32", "uint32", "u4", "U32", "UINT32"},
    {DType::kI64, 8, "i64", "int64", "i8", "I64", "INT64"},
    {DType::kU64, 9, "u64", "uint64", "u8", "U64", "UINT64"},
    {DType::kF16, 10, "f16", "float16", "f2", "F16", "FP16"},
    {DType::kBF16, 11, "bf16", "bfloat16", "", "BF16", "BF16"},
    {DType::kF32, 12, "f32", "float32", "f4", "F32", "FP32"},
    {DType::kF64, 13, "f64", "float64", "f8", "F64", "FP64"},
    {DType::kF8E4M3, 14, "f8_e4m3", "float8_e4m3fn", "", "F8_E4M3", ""},
    {DType::kF8E5M2, 15, "f8_e5m2", "float8_e5m2", "", "F8_E5M2", ""}};

inline constexpr std::size_t kDTypeCount = std::size(kDTypeRows);
static_assert(std::tuple_size_v<ElementTypes> == kDTypeCount);

constexpr const DTypeRow& RowOf(DType dtype) { return kDTypeRows[static_cast<std::size_t>(dtype)]; }

// "f32": as in flags and metrics.
constexpr const char* Name(DType dtype) { return RowOf(dtype).name; }

// Of a build for developers (docs/adding_a_dtype.md) the names of the dtypes that it has kernels
// for.
#ifdef WARPFOLD_DTYPES
inline constexpr std::string_view kBuiltDTypes = "," WARPFOLD_DTYPES ",";
#else
inline constexpr std::string_view kBuiltDTypes = "";  // all
#endif

constexpr bool IsBuilt(const DTypeRow& row) {
  if (kBuiltDTypes.empty()) return true;
  const std::string_view name = row.name;
  for (std::size_t at = kBuiltDTypes.find(name); at != std::string_view::npos;
       at = kBuiltDTypes.find(name, at + 1)) {
    if (kBuiltDTypes[at - 1] == ',' && kBuiltDTypes[at + name.size()] == ',') return true;
  }
  return false;
}

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls `visitor(TypeTag<T>{})` with the C++ type of `dtype`.
template <std::size_t kIndex = 0, typename Visitor>
constexpr decltype(auto) VisitDType(DType dtype, Visitor&& visitor) {
  if constexpr (kIndex + 1 < kDTypeCount) {
    if (static_cast<std::size_t>(dtype) != kIndex) {
      return VisitDType<kIndex + 1>(dtype, std::forward<Visitor>(visitor));
    }
  }
  return std::forward<Visitor>(visitor)(TypeTag<std::tuple_element_t<kIndex, ElementTypes>>{});
}

namespace internal {

template <typename T, std::size_t... kIndices>
constexpr DType DTypeOf(std::index_sequence<kIndices...>) {
  static_assert((std::is_same_v<T, std::tuple_element_t<kIndices, ElementTypes>> || ...),
                "elements of this type are of no dtype; ElementTypes has all that are");
  std::size_t index = 0;
  ((std::is_same_v<T, std::tuple_element_t<kIndices, ElementTypes>> ? index = kIndices : index),
   ...);
  return static_cast<DType>(index);
}

template <std::size_t... kIndices>
constexpr bool AreInOrder(std::index_sequence<kIndices...>) {
  return ((static_cast<std::size_t>(kDTypeRows[kIndices].dtype) == kIndices) && ...);
}
static_assert(AreInOrder(std::make_index_sequence<kDTypeCount>()), "rows in the order of DType");

constexpr auto BuiltDTypes() {
  constexpr auto kCount = std::count_if(std::begin(kDTypeRows), std::end(kDTypeRows), IsBuilt);
  std::array<DType, kCount> built{};
  std::size_t i = 0;
  for (const DTypeRow& row : kDTypeRows) {
    if (IsBuilt(row)) built[i++] = row.dtype;
  }
  return built;
}

}  // namespace internal

// Those that there are kernels for, and that a server has.
inline constexpr std::array kAllDTypes = internal::BuiltDTypes();

// VisitDType of one that there are kernels for, compiled for no other.
template <std::size_t kIndex = 0, typename Visitor>
constexpr decltype(auto) VisitBuilt(DType dtype, Visitor&& visitor) {
  if constexpr (kIndex + 1 < kAllDTypes.size()) {
    if (dtype != kAllDTypes[kIndex]) {
      return VisitBuilt<kIndex + 1>(dtype, std::forward<Visitor>(visitor));
    }
  }
  constexpr auto kElement = static_cast<std::size_t>(kAllDTypes[kIndex]);
  return std::forward<Visitor>(visitor)(TypeTag<std::tuple_element_t<kElement, ElementTypes>>{});
}

// The dtype of elements of type T.
template <typename T>
inline constexpr DType kDTypeOf = internal::DTypeOf<T>(std::make_index_sequence<kDTypeCount>());

// Bytes of one element.
constexpr std::size_t ElementBytes(DType dtype) {
  return VisitDType(dtype, [](auto tag) { return sizeof(typename decltype(tag)::type); });
}

// It has NaN and a zero of either sign; all but f8_e4m3 have infinities, too.
constexpr bool IsFloat(DType dtype) {
  return VisitDType(dtype, [](auto tag) { return kIsFloat<typename decltype(tag)::type>; });
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_DTYPES_CATALOGUE_H_
