// Quotients and roots of integers of many words, to as many leading bits as a rounding needs and
// with whether anything is left. The same text on CPU and GPU.
//
// Floating point only guesses: what is guessed is put right by integers, so that no mode, no fused
// multiply-add and no flushed subnormal number can show in a result.
#ifndef WARPFOLD_KERNELS_EXACT_QUOTIENT_H_
#define WARPFOLD_KERNELS_EXACT_QUOTIENT_H_

#include <cmath>
#include <cstdint>

#include "kernels/exact/rounding.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::exact {
namespace internal {

// A quotient as it comes, 64 bits at a time.
class LongDivision {
 public:
  // a / divisor, a > 0, 0 < divisor < 2^127. The first word of the quotient has 63 or 64 bits.
  WARPFOLD_HD LongDivision(WordsView a, uint128 divisor)
      : a_(a), shift_(128 - BitLength(divisor)), divisor_(divisor << shift_) {
    // Of a the leading 127 bits, which are less than the divisor's 128.
    bit_ = std::int64_t{BitLength(a)} - 127;
    rest_ = uint128{BitsFrom(a, bit_ + 64)} << 64 | BitsFrom(a, bit_);
  }

  // By Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D: what the divisor's upper word
  // gives is too large by 2 at most.
  WARPFOLD_HD std::uint64_t NextWord() {
    bit_ -= 64;
    const std::uint64_t next = BitsFrom(a_, bit_);
    const auto high = static_cast<std::uint64_t>(divisor_ >> 64);
    const auto low = static_cast<std::uint64_t>(divisor_);
    // The rest is less than the divisor, and its upper word at most the divisor's.
    std::uint64_t quotient = ~std::uint64_t{0};
    if (static_cast<std::uint64_t>(rest_ >> 64) < high) {
      quotient = static_cast<std::uint64_t>(rest_ / high);
    }
    uint128 rest = rest_ - uint128{quotient} * high;
    uint128 product = uint128{quotient} * low;
    while (rest >> 64 == 0 && product > (rest << 64 | next)) {
      --quotient;
      rest += high;
      product -= low;
    }
    rest_ = (rest << 64 | next) - product;  // below 2^128, as the divisor is
    return quotient;
  }

  // Of the last bit of the words so far.
  WARPFOLD_HD std::int64_t exponent() const { return bit_ + shift_; }
  WARPFOLD_HD bool HasRest() const { return rest_ != 0 || AnyBelow(a_, bit_); }

 private:
  WordsView a_;
  int shift_;
  uint128 divisor_;
  std::int64_t bit_;  // of `a` those from here on are used up
  uint128 rest_;
};

// (word + [0, 1)) * 2^exponent, with bit 63 set.
WARPFOLD_HD Leading LeadingOf(std::uint64_t word, std::int64_t exponent, bool has_rest) {
  const int zeros = LeadingZeros(word);
  return {word << zeros, exponent - zeros, has_rest};
}

// An integer's root, rounded down, and what that leaves: at most twice the root.
struct WordRoot {
  std::uint64_t root;
  std::uint64_t rest;
};

// x < 2^62.
WARPFOLD_HD WordRoot RootOfWord(std::uint64_t x) {
  // The guess is off by 1 at most. Signed numbers are converted by one instruction.
  auto root = static_cast<std::uint64_t>(
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(static_cast<std::int64_t>(x)))));
  while (root * root > x) --root;
  while (x - root * root > 2 * root) ++root;
  return {root, x - root * root};
}

// The root of x * 2^exponent, x of 127 or 128 bits: 62 or 63 bits of it.
WARPFOLD_HD Leading LongRoot(uint128 x, std::int64_t exponent, bool has_rest) {
  // To at most 126 bits, and an even exponent, of which the root's is the half.
  const int shift = 2 + static_cast<int>(exponent & 1);
  has_rest = has_rest || (static_cast<std::uint64_t>(x) & ((1u << shift) - 1)) != 0;
  x >>= shift;
  // By Zimmermann, Karatsuba square root: the root's upper half, then the other by a division that
  // may give too much, as it leaves out that half's square.
  const WordRoot upper = RootOfWord(static_cast<std::uint64_t>(x >> 64));
  const std::uint64_t dividend = upper.rest << 32 | (static_cast<std::uint64_t>(x) >> 32);
  std::uint64_t root = (upper.root << 32) + dividend / (2 * upper.root);
  auto rest = static_cast<int128>(x) - static_cast<int128>(uint128{root} * root);
  while (rest < 0) {
    --root;
    rest += 2 * int128{root} + 1;
  }
  return LeadingOf(root, (exponent + shift) / 2, has_rest || rest != 0);
}

// The same of 63 or 64 bits: 30 or 31 bits of it.
WARPFOLD_HD Leading ShortRoot(std::uint64_t x, std::int64_t exponent, bool has_rest) {
  const int shift = 2 + static_cast<int>(exponent & 1);
  has_rest = has_rest || (x & ((1u << shift) - 1)) != 0;
  const WordRoot root = RootOfWord(x >> shift);
  return LeadingOf(root.root, (exponent + shift) / 2, has_rest || root.rest != 0);
}

// Whether ShortRoot has the bits that a rounding to R needs.
template <typename R>
inline constexpr bool kHasShortRoot = FloatFormat<R>::kPrecision <= 24;

}  // namespace internal

// a * 2^unit / divisor, 0 < divisor < 2^127: 63 or 64 bits of it.
WARPFOLD_HD Leading Quotient(WordsView a, uint128 divisor, std::int64_t unit) {
  if (BitLength(a) == 0) return {0, 0, false};
  internal::LongDivision division(a, divisor);
  const std::uint64_t word = division.NextWord();
  return internal::LeadingOf(word, unit + division.exponent(), division.HasRest());
}

// The root of a * 2^unit / divisor, to be rounded to R. As floor(root(x)) is floor(root(floor(x))),
// what the division leaves and what the root leaves just add up.
template <typename R>
WARPFOLD_HD Leading RootOfQuotient(WordsView a, uint128 divisor, std::int64_t unit) {
  if (BitLength(a) == 0) return {0, 0, false};
  internal::LongDivision division(a, divisor);
  const std::uint64_t word = division.NextWord();
  if constexpr (internal::kHasShortRoot<R>) {
    return internal::ShortRoot(word, unit + division.exponent(), division.HasRest());
  } else {
    const uint128 words = uint128{word} << 64 | division.NextWord();
    return internal::LongRoot(words, unit + division.exponent(), division.HasRest());
  }
}

// The root of a * 2^unit, to be rounded to R.
template <typename R>
WARPFOLD_HD Leading RootOf(WordsView a, std::int64_t unit) {
  const std::int64_t length = BitLength(a);
  if (length == 0) return {0, 0, false};
  const std::uint64_t top = BitsFrom(a, length - 64);
  if constexpr (internal::kHasShortRoot<R>) {
    return internal::ShortRoot(top, unit + length - 64, AnyBelow(a, length - 64));
  } else {
    const uint128 words = uint128{top} << 64 | BitsFrom(a, length - 128);
    return internal::LongRoot(words, unit + length - 128, AnyBelow(a, length - 128));
  }
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_QUOTIENT_H_
