// The judge of whole reductions by the exact engine's promise: every sum, mean, norm, variance and
// product is the real number, rounded once. By GMP's integers and plain loops over elements; shares
// nothing with the kernels but the names of dtypes and ops.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_REDUCTION_ORACLE_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_REDUCTION_ORACLE_H_

#include <gmpxx.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/plan.h"
#include "kernels/types.h"
#include "tests/kernels/exact/oracle.h"

namespace warpfold::testing {

inline constexpr DType kFloatDTypes[] = {DType::kF16, DType::kBF16,   DType::kF32,
                                         DType::kF64, DType::kF8E4M3, DType::kF8E5M2};

// What one op of a reduction must answer.
struct Answer {
  static constexpr std::int64_t kAllFit = -1;

  std::string bytes;  // of all outputs in C order, of dtype ExpectedResultDType(op, dtype)
  // An integer SUM or PROD that does not fit is OUT_OF_RANGE: the number of the lowest such output
  // and its exact value. Of each of them `bytes` has zeros.
  std::int64_t op_overflow = kAllFit;
  mpz_class overflow_value;
};

// The answers of spec.ops, in their order, over the elements at `data`. Of a float PROD the product
// rounded once, which a server may refuse where its own bound does not decide the rounding.
// REQUIRES: MakePlan accepts `spec`.
std::vector<Answer> ReductionAnswers(const ReduceSpec& spec, const void* data);

// The number of the output that each element belongs to, both in C order. `axes` as in ReduceSpec.
std::vector<std::size_t> OutputOfEachElement(const std::vector<std::int64_t>& shape,
                                             const std::vector<std::int64_t>& axes);

// REQUIRES: IsFloat(dtype).
const Format& FormatOfFloat(DType dtype);

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_REDUCTION_ORACLE_H_
