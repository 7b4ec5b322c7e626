// Integers of many 64-bit words, the lowest first: the magnitudes of exact sums. The same text on
// CPU and GPU; nothing here allocates, fails or uses floating point.
#ifndef WARPFOLD_KERNELS_EXACT_WORDS_H_
#define WARPFOLD_KERNELS_EXACT_WORDS_H_

#include <cstdint>

#include "kernels/host_device.h"

namespace warpfold::exact {

// An unsigned integer that somebody else holds: words[i] stands for words[i] * 2^(64 (first + i)).
struct WordsView {
  const std::uint64_t* words;
  int count;
  int first = 0;

  // Word w of the integer, which has zeros below and above those that are held.
  WARPFOLD_HD std::uint64_t operator[](std::int64_t w) const {
    return w < first || w >= first + count ? 0 : words[w - first];
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
  return top == 0 ? 0 : 64 * (a.first + top) - LeadingZeros(a.words[top - 1]);
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
  for (int w = 0; w < a.count; ++w) {
    const std::int64_t kept = bit - 64 * (std::int64_t{a.first} + w);
    if (kept <= 0) return false;
    const std::uint64_t below = kept < 64 ? (std::uint64_t{1} << kept) - 1 : ~std::uint64_t{0};
    if ((a.words[w] & below) != 0) return true;
  }
  return false;
}

// a * a, in 2 * a.count words at `out`.
WARPFOLD_HD WordsView Square(WordsView a, std::uint64_t* out) {
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
  return {out, 2 * a.count, 2 * a.first};
}

// a * factor - b, which must not be negative, in words at `out`: from the lowest of a and b to the
// one above a.
WARPFOLD_HD WordsView MultiplySubtract(WordsView a, std::uint64_t factor, WordsView b,
                                       std::uint64_t* out) {
  const int first = b.count > 0 && b.first < a.first ? b.first : a.first;
  const int count = a.first + a.count + 1 - first;
  std::uint64_t carry = 0;
  std::uint64_t borrow = 0;
  for (int w = 0; w < count; ++w) {
    const uint128 product = uint128{a[first + w]} * factor + carry;
    carry = static_cast<std::uint64_t>(product >> 64);
    const uint128 difference = uint128{static_cast<std::uint64_t>(product)} - b[first + w] - borrow;
    out[w] = static_cast<std::uint64_t>(difference);
    borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
  }
  return {out, count, first};
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_WORDS_H_
