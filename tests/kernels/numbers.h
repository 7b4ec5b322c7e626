// What elements stand for, and what numbers become as elements: by arithmetic on powers of two, so
// that nothing is shared with kernels/dtypes/element.h but the types.
#ifndef WARPFOLD_TESTS_KERNELS_NUMBERS_H_
#define WARPFOLD_TESTS_KERNELS_NUMBERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/dtypes/element.h"
#include "tests/kernels/reference.h"

namespace warpfold::testing {

// A float of 16 bits as a double. `mantissa`: its stored bits.
inline double DecodeFloat16(std::uint16_t bits, int mantissa) {
  const int exponent_bits = 15 - mantissa;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << mantissa) - 1);
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

// The nearest float of 16 bits, ties to even: in units of its last place, rounded by the C library.
inline std::uint16_t EncodeFloat16(double x, int mantissa) {
  const int exponent_bits = 15 - mantissa;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int infinity = ((1 << exponent_bits) - 1) << mantissa;
  if (std::isnan(x)) return static_cast<std::uint16_t>(infinity | (1 << (mantissa - 1)));
  const int sign = std::signbit(x) ? 1 << 15 : 0;
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | infinity);
  const int exponent = x == 0 ? 1 - bias : std::max(std::ilogb(x), 1 - bias);
  // Neighbouring bit patterns are neighbouring numbers, across exponents too.
  const double units = std::nearbyint(std::ldexp(std::fabs(x), mantissa - exponent));
  const double pattern = units + std::ldexp(exponent - (1 - bias), mantissa);
  return static_cast<std::uint16_t>(sign |
                                    (pattern >= infinity ? infinity : static_cast<int>(pattern)));
}

// A float of 8 bits, by OFP8's numbers.
inline double Number(F8E4M3 x) {
  const int exponent = x.bits >> 3 & 15;
  const int fraction = x.bits & 7;
  const double sign = x.bits >> 7 != 0 ? -1.0 : 1.0;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, -9);
  return sign * std::ldexp(8 + fraction, exponent - 10);
}
inline double Number(F8E5M2 x) {
  return DecodeFloat16(static_cast<std::uint16_t>(x.bits << 8), 10);
}

// The numbers of a T from 0 on, each at its bits, and behind the largest what would come next: it
// counts as one, as it is rounded to from halfway on.
template <typename T>
const std::vector<double>& MagnitudesOf() {
  static const std::vector<double> numbers = [] {
    constexpr int kLargest = std::is_same_v<T, F8E4M3> ? 0x7e : 0x7b;
    std::vector<double> all;
    for (int bits = 0; bits <= kLargest; ++bits) {
      all.push_back(Number(T{static_cast<std::uint8_t>(bits)}));
    }
    all.push_back(2 * all[kLargest] - all[kLargest - 1]);
    return all;
  }();
  return numbers;
}

// The nearest one, of two equally near ones that whose last bit is 0; past the largest infinity, or
// NaN where there is none.
template <typename T>
T EncodeByteFloat(double x) {
  constexpr bool kHasInfinity = !std::is_same_v<T, F8E4M3>;
  const T nan{kHasInfinity ? std::uint8_t{0x7e} : std::uint8_t{0x7f}};
  if (std::isnan(x)) return nan;
  const double size = std::fabs(x);
  const std::vector<double>& numbers = MagnitudesOf<T>();
  const auto last = std::prev(numbers.end());
  auto best = std::lower_bound(numbers.begin(), last, size);
  if (best != numbers.begin()) {
    const auto below = std::prev(best);
    const double up = *best - size;
    const double down = size - *below;
    if (down < up || (down == up && (below - numbers.begin()) % 2 == 0)) best = below;
  }
  if (best == last && !kHasInfinity) return nan;
  const int sign = std::signbit(x) ? 0x80 : 0;
  return T{static_cast<std::uint8_t>(sign | static_cast<int>(best - numbers.begin()))};
}

inline double Number(Half x) { return DecodeFloat16(x.bits, 10); }
inline double Number(BFloat16 x) { return DecodeFloat16(x.bits, 7); }
inline double Number(float x) { return x; }
inline double Number(double x) { return x; }
inline reference::Wide Number(Bool x) { return x.byte != 0 ? 1 : 0; }
template <typename T>
requires std::is_integral_v<T> reference::Wide Number(T x) { return x; }

// The bytes of `x` rounded to a T.
template <typename T, typename X>
std::string BytesOf(X x) {
  T value;
  if constexpr (std::is_same_v<T, Half>) {
    value = {EncodeFloat16(x, 10)};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    value = {EncodeFloat16(x, 7)};
  } else if constexpr (kIsLifted<T>) {
    value = EncodeByteFloat<T>(x);
  } else if constexpr (std::is_same_v<T, Bool>) {
    value = {static_cast<std::uint8_t>(x)};
  } else {
    value = static_cast<T>(x);
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
    }
  }
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// An element that stands for `x`, which has to be one.
template <typename T, typename X>
T ElementOf(X x) {
  T value{};
  const std::string bytes = BytesOf<T>(x);
  bytes.copy(reinterpret_cast<char*>(&value), sizeof(value));
  return value;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_NUMBERS_H_
