// What VAR and STD divide by.
#ifndef WARPFOLD_KERNELS_EXACT_VARIANCE_DIVISOR_H_
#define WARPFOLD_KERNELS_EXACT_VARIANCE_DIVISOR_H_

#include <cmath>
#include <cstdint>

#include "kernels/host_device.h"

namespace warpfold::exact {

// count - correction: digits * 2^exponent, and no digits where it is not positive. Exact of whole
// corrections, else the float64 that the subtraction of float64 numbers gives. REQUIRES: count >=
// 0; the correction is finite.
struct VarianceDivisor {
  std::uint64_t digits = 0;
  int exponent = 0;

  WARPFOLD_HD VarianceDivisor(std::int64_t count, double correction) {
    constexpr double kWholeMax = 0x1p62;
    if (std::fabs(correction) <= kWholeMax && std::trunc(correction) == correction) {
      const auto whole = static_cast<std::int64_t>(correction);
      if (count <= whole) return;
      digits = static_cast<std::uint64_t>(count) - static_cast<std::uint64_t>(whole);
      return;
    }
    const double difference = static_cast<double>(count) - correction;
    if (!(difference > 0)) return;
    // At least 2^-53, the distance of 1 from its neighbour.
    const auto bits = BitCast<std::uint64_t>(difference);
    digits = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    exponent = static_cast<int>(bits >> 52) - 1075;
  }

  WARPFOLD_HD bool is_positive() const { return digits != 0; }
  // Whether it is below 2^53, and so a float64 number.
  WARPFOLD_HD bool is_short() const { return digits < std::uint64_t{1} << 53 && exponent <= 0; }
  // REQUIRES: is_short().
  WARPFOLD_HD double ToDouble() const {
    const auto power = BitCast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
    return static_cast<double>(static_cast<std::int64_t>(digits)) * power;
  }
};

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_VARIANCE_DIVISOR_H_
