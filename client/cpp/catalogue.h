// The catalogues of dtypes and ops. Made by tools/catalogue/generate.py; not to be edited.
#ifndef WARPFOLD_CLIENT_CPP_CATALOGUE_H_
#define WARPFOLD_CLIENT_CPP_CATALOGUE_H_

#include <cstddef>
#include <cstdint>

#include "client/cpp/tensor.h"

namespace warpfold::client {

enum class Nature : std::uint8_t { kBool, kSigned, kUnsigned, kFloat };

// Names are each format's; an empty one says that the format does not have the dtype.
struct DTypeRow {
  DType dtype;
  Nature nature;
  std::size_t bytes;  // of an element
  // Of a float. Without infinities NaN is where they would be, all of its bits set.
  int exponent_bits;
  int mantissa_bits;
  bool has_infinities;
  const char* npy;  // without the byte order
  const char* safetensors;
  const char* kserve;
};

// clang-format off
inline constexpr DTypeRow kDTypeRows[] = {
    {v1::DTYPE_BOOL, Nature::kBool, 1, 0, 0, false, "b1", "BOOL", "BOOL"},
    {v1::DTYPE_I8, Nature::kSigned, 1, 0, 0, false, "i1", "I8", "INT8"},
    {v1::DTYPE_U8, Nature::kUnsigned, 1, 0, 0, false, "u1", "U8", "UINT8"},
    {v1::DTYPE_I16, Nature::kSigned, 2, 0, 0, false, "i2", "I16", "INT16"},
    {v1::DTYPE_U16, Nature::kUnsigned, 2, 0, 0, false, "u2", "U16", "UINT16"},
    {v1::DTYPE_I32, Nature::kSigned, 4, 0, 0, false, "i4", "I32", "INT32"},
    {v1::DTYPE_U32, Nature::kUnsigned, 4, 0, 0, false, "u4", "U32", "UINT32"},
    {v1::DTYPE_I64, Nature::kSigned, 8, 0, 0, false, "i8", "I64", "INT64"},
    {v1::DTYPE_U64, Nature::kUnsigned, 8, 0, 0, false, "u8", "U64", "UINT64"},
    {v1::DTYPE_F16, Nature::kFloat, 2, 5, 10, true, "f2", "F16", "FP16"},
    {v1::DTYPE_BF16, Nature::kFloat, 2, 8, 7, true, "", "BF16", "BF16"},
    {v1::DTYPE_F32, Nature::kFloat, 4, 8, 23, true, "f4", "F32", "FP32"},
    {v1::DTYPE_F64, Nature::kFloat, 8, 11, 52, true, "f8", "F64", "FP64"},
    {v1::DTYPE_F8_E4M3, Nature::kFloat, 1, 4, 3, false, "", "F8_E4M3", ""},
    {v1::DTYPE_F8_E5M2, Nature::kFloat, 1, 5, 2, true, "", "F8_E5M2", ""},
};

struct OpRow {
  Op op;
  bool has_empty;  // it has a result over no elements
  const char* params;  // the field of OpSpec.params that is its own; or empty
  int trailing_dims;  // that its results have of their own, behind those that are kept
  // The most bytes that a partial state has of one output, for each of kDTypeRows.
  std::int64_t state_bytes_max[15];
};

inline constexpr OpRow kOpRows[] = {
    {v1::OP_SUM, true, "", 0, {20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 48, 48, 276, 20, 20}},
    {v1::OP_MIN, false, "", 0, {4, 4, 4, 4, 4, 4, 4, 8, 8, 4, 4, 4, 8, 4, 4}},
    {v1::OP_MAX, false, "", 0, {4, 4, 4, 4, 4, 4, 4, 8, 8, 4, 4, 4, 8, 4, 4}},
    {v1::OP_MEAN, true, "", 0, {20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 48, 48, 276, 20, 20}},
    {v1::OP_PROD, true, "", 0, {16, 16, 16, 16, 16, 16, 16, 16, 16, 33, 33, 33, 33, 33, 33}},
    {v1::OP_VAR, true, "variance", 0, {40, 40, 40, 40, 40, 40, 40, 48, 48, 44, 132, 132, 816, 44, 44}},
    {v1::OP_STD, true, "variance", 0, {40, 40, 40, 40, 40, 40, 40, 48, 48, 44, 132, 132, 816, 44, 44}},
    {v1::OP_L1_NORM, true, "", 0, {20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 48, 48, 276, 20, 20}},
    {v1::OP_L2_NORM, true, "", 0, {20, 20, 20, 20, 20, 20, 20, 28, 28, 24, 84, 84, 540, 24, 24}},
    {v1::OP_COUNT_NONZERO, true, "", 0, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
    {v1::OP_ANY, true, "", 0, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
    {v1::OP_ALL, true, "", 0, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
    {v1::OP_NAN_COUNT, true, "", 0, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
    {v1::OP_INF_COUNT, true, "", 0, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
    {v1::OP_ARGMIN, false, "", 0, {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16}},
    {v1::OP_ARGMAX, false, "", 0, {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16}},
    {v1::OP_MAX_ABS, true, "", 0, {8, 8, 8, 8, 8, 8, 8, 16, 16, 8, 8, 8, 16, 8, 8}},
    {v1::OP_PTP, false, "", 0, {8, 8, 8, 8, 8, 8, 8, 16, 16, 8, 8, 8, 16, 8, 8}},
};

// What `describe` asks for.
inline constexpr Op kDescribeOps[] = {
    v1::OP_SUM,
    v1::OP_MEAN,
    v1::OP_STD,
    v1::OP_MIN,
    v1::OP_MAX,
    v1::OP_L1_NORM,
    v1::OP_L2_NORM,
    v1::OP_NAN_COUNT,
    v1::OP_INF_COUNT,
};
// clang-format on

// Null of what only a newer server knows.
constexpr const DTypeRow* RowOf(DType dtype) {
  for (const DTypeRow& row : kDTypeRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

constexpr const OpRow* RowOf(Op op) {
  for (const OpRow& row : kOpRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

constexpr bool IsFloat(DType dtype) {
  const DTypeRow* row = RowOf(dtype);
  return row != nullptr && row->nature == Nature::kFloat;
}

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CATALOGUE_H_
