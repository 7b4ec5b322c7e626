// What VAR and STD divide by as the contract says it (VarianceParams), as a rational number.
#ifndef WARPFOLD_TESTS_KERNELS_EXACT_EXPECTED_DIVISOR_H_
#define WARPFOLD_TESTS_KERNELS_EXACT_EXPECTED_DIVISOR_H_

#include <gmpxx.h>

#include <cmath>

namespace warpfold::testing {

inline mpq_class ExpectedDivisor(long count, double correction) {
  const bool is_whole = std::floor(correction) == correction && std::fabs(correction) <= 0x1p62;
  if (is_whole) return mpq_class(count) - mpq_class(correction);
  return mpq_class(static_cast<double>(count) - correction);
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_EXACT_EXPECTED_DIVISOR_H_
