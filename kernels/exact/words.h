// Integers of many 64-bit words, the lowest first: the magnitudes of exact sums. The same text on
// CPU and GPU; nothing here allocates, fails or uses floating point.
#ifndef WARPFOLD_KERNELS_EXACT_WORDS_H_
#define WARPFOLD_KERNELS_EXACT_WORDS_H_

#include <cstdint>

#include "kernels/host_device.h"

namespace warpfold::exact {

// An unsigned integer that somebody else holds. Words beyond `count` are zero.
struct WordsView {
  const std::uint64_t* words;
  int count;

  WARPFOLD_HD std::uint64_t operator[](std::int64_t w) const {
    return w < 0 || w >= count ? 0 : words[w];
  }
};

WARPFOLD_HD int LeadingZeros(std::uint64_t x) {  // x != 0
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}

// 0 of 0.
WARPFOLD_HD int BitLength(WordsView a) {
  int top = a.count;
  while (top > 0 && a.words[top - 1] == 0) --top;
  return top == 0 ? 0 : 64 * top - LeadingZeros(a.words[top - 1]);
}

WARPFOLD_HD int BitLength(uint128 a) {
  const auto high = static_cast<std::uint64_t>(a >> 64);
  if (high != 0) return 128 - LeadingZeros(high);
  const auto low = static_cast<std::uint64_t>(a);
  return low == 0 ? 0 : 64 - LeadingZeros(low);
}

// Bits [bit, bit + 64). Bits below 0 are zeros.
WARPFOLD_HD std::uint64_t BitsFrom(WordsView a, std::int64_t bit) {
  const std::int64_t word = bit >> 6;
  const int shift = static_cast<int>(bit & 63);
  return shift == 0 ? a[word] : a[word] >> shift | a[word + 1] << (64 - shift);
}

// Whether a bit below `bit` is set.
WARPFOLD_HD bool AnyBelow(WordsView a, std::int64_t bit) {
  for (int w = 0; w < a.count && 64 * std::int64_t{w} < bit; ++w) {
    const std::int64_t kept = bit - 64 * std::int64_t{w};
    const std::uint64_t below = kept < 64 ? (std::uint64_t{1} << kept) - 1 : ~std::uint64_t{0};
    if ((a.words[w] & below) != 0) return true;
  }
  return false;
}

// out = a * a, 2 * a.count words.
WARPFOLD_HD void Square(WordsView a, std::uint64_t* out) {
  for (int w = 0; w < 2 * a.count; ++w) out[w] = 0;
  for (int i = 0; i < a.count; ++i) {
    std::uint64_t carry = 0;
    for (int j = 0; j < a.count; ++j) {
      const uint128 sum = uint128{a.words[i]} * a.words[j] + out[i + j] + carry;
      out[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    out[i + a.count] = carry;
  }
}

// a = a * factor - b, `count` words of a. The difference has to fit, and not to be negative.
WARPFOLD_HD void MultiplySubtract(std::uint64_t* a, int count, std::uint64_t factor, WordsView b) {
  std::uint64_t carry = 0;
  std::uint64_t borrow = 0;
  for (int w = 0; w < count; ++w) {
    const uint128 product = uint128{a[w]} * factor + carry;
    carry = static_cast<std::uint64_t>(product >> 64);
    const uint128 difference = uint128{static_cast<std::uint64_t>(product)} - b[w] - borrow;
    a[w] = static_cast<std::uint64_t>(difference);
    borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
  }
}

// What a division or a root leaves: `value` bits of the result and whether anything is behind them.
struct Truncated {
  uint128 value;
  std::int64_t exponent;  // the result is (value + [0, 1)) * 2^exponent
  bool has_rest;
};

// a / divisor to kBits or kBits + 1 bits: restoring division, a bit a step. a > 0, kBits <= 126,
// and 0 < divisor < 2^127, so that twice the remainder fits.
template <int kBits>
WARPFOLD_HD Truncated Divide(WordsView a, uint128 divisor) {
  static_assert(kBits <= 126);
  // One bit less than the divisor has makes the first remainder smaller than it.
  const int divisor_bits = BitLength(divisor);
  std::int64_t bit = std::int64_t{BitLength(a)} - divisor_bits + 1;
  uint128 remainder = uint128{BitsFrom(a, bit + 64)} << 64 | BitsFrom(a, bit);
  uint128 quotient = 0;
  for (int step = 0; step <= kBits; ++step) {
    --bit;
    remainder = remainder << 1 | (BitsFrom(a, bit) & 1);
    const bool fits = remainder >= divisor;
    remainder -= fits ? divisor : 0;
    quotient = quotient << 1 | (fits ? 1 : 0);
  }
  return {quotient, bit, remainder != 0 || AnyBelow(a, bit)};
}

// The root of x * 2^exponent, x of 126 bits or more: of it 63 or 64 bits, two bits of x a step.
WARPFOLD_HD Truncated Root(uint128 x, std::int64_t exponent) {
  bool has_rest = false;
  if ((exponent & 1) != 0) {  // of an even exponent the root is its half
    has_rest = (x & 1) != 0;
    x >>= 1;
    ++exponent;
  }
  uint128 remainder = 0;
  uint128 root = 0;
  for (int bit = 126; bit >= 0; bit -= 2) {
    remainder = remainder << 2 | (x >> bit & 3);
    root <<= 1;
    const uint128 step = root << 1 | 1;
    if (remainder < step) continue;
    remainder -= step;
    root |= 1;
  }
  return {root, exponent / 2, has_rest || remainder != 0};
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_WORDS_H_
