// Exact sums as they are kept while a reduction runs: integers in units of the smallest number that
// an element, or the square of one, can be. The same text on CPU and GPU.
//
// Sums are carry-save: digits of 32 bits in signed words of 64, so that an addition is a few plain
// additions in any order, by any thread, and carries wait for Normalize.
#ifndef WARPFOLD_KERNELS_EXACT_STATE_H_
#define WARPFOLD_KERNELS_EXACT_STATE_H_

#include <cstdint>

#include "kernels/dtypes/element.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// What digits cannot show of the elements. States join by or.
enum Specials : std::uint32_t {
  kHasNan = 1,
  kHasPositiveInfinity = 2,
  kHasNegativeInfinity = 4,
  kHasOtherThanNegativeZero = 8,  // a sum of nothing but -0.0 is -0.0
};
inline constexpr std::uint32_t kNotFinite = kHasNan | kHasPositiveInfinity | kHasNegativeInfinity;

namespace internal {

// Finite elements are integers below 2^kElementBits times 2^kUnit. bf16 shares f32's units, whose
// numbers its own are.
template <typename T>
struct ElementRange;
template <>
struct ElementRange<Half> {
  static constexpr int kUnit = -24;
  static constexpr int kElementBits = 16 - kUnit;
};
template <>
struct ElementRange<float> {
  static constexpr int kUnit = -149;
  static constexpr int kElementBits = 128 - kUnit;
};
template <>
struct ElementRange<BFloat16> : ElementRange<float> {};
template <>
struct ElementRange<double> {
  static constexpr int kUnit = -1074;
  static constexpr int kElementBits = 1024 - kUnit;
};

}  // namespace internal

// The digits of a sum of elements (kPower 1) or of their squares (kPower 2), of up to 2^63 of them.
template <typename T, int kPower>
struct DigitLayout {
  static_assert(kPower == 1 || kPower == 2);
  static constexpr int kUnit = kPower * internal::ElementRange<T>::kUnit;
  static constexpr int kBits = kPower * internal::ElementRange<T>::kElementBits + 63;  // no sign
  // The last word is not a digit: its 64 bits hold all above the others, and the sign.
  static constexpr int kWords = (kBits + 1 - 64 + 31) / 32 + 1;
  static constexpr int kMagnitudeWords = (kBits + 63) / 64;
};

// A sum: words[i] stands for words[i] * 2^(32 i + kUnit). After Normalize all but the last are
// digits in [0, 2^32). A word holds 2^31 additions of AddAt between two of them.
template <class Layout>
struct WideSum {
  std::int64_t words[Layout::kWords] = {};
};

// Adds value * 2^bit, in units, to a sum's words, which lie kStride apart, in pieces of at most
// 2^32. There have to be three words from bit / 32 on: so there are for every element and for the
// sum of any tile of them.
template <int kStride = 1>
WARPFOLD_HD void AddAt(std::int64_t* words, std::int64_t value, int bit) {
  const int word = bit >> 5;
  const int128 shifted = static_cast<int128>(static_cast<uint128>(int128{value}) << (bit & 31));
  const auto digit = [&](int d) {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted >> (32 * d)));
  };
  words[word * kStride] += digit(0);
  words[(word + 1) * kStride] += digit(1);
  words[(word + 2) * kStride] += static_cast<std::int64_t>(shifted >> 64);
}

// A finite element: mantissa * 2^(bit + kUnit) of its DigitLayout.
struct ElementParts {
  std::int64_t mantissa;
  int bit;
};

template <typename T>
WARPFOLD_HD ElementParts PartsOf(T x) {
  using Format = FloatFormat<T>;
  constexpr int kStored = Format::kPrecision - 1;
  constexpr int kExponentMask = (1 << Format::kExponentBits) - 1;
  const std::uint64_t bits = BitCast<typename Format::Bits>(x);
  const int biased = static_cast<int>(bits >> kStored) & kExponentMask;
  auto mantissa = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << kStored) - 1));
  if (biased != 0) mantissa |= std::int64_t{1} << kStored;
  const bool is_negative = (bits >> (kStored + Format::kExponentBits)) != 0;
  return {is_negative ? -mantissa : mantissa, biased > 1 ? biased - 1 : 0};
}

// As the float that it is: with 8 bits of mantissa the highest would lie where AddAt wants a word
// more than there is.
WARPFOLD_HD ElementParts PartsOf(BFloat16 x) { return PartsOf(Widen(x)); }

// Adds a finite number that is a multiple of 2^kUnit, and no larger than a tile's sum.
template <class Layout>
WARPFOLD_HD void AddNumber(WideSum<Layout>& sum, double x) {
  ElementParts parts = PartsOf(x);
  const int bit = parts.bit + kLowestExponent<double> - Layout::kUnit;
  // Of a number with fewer bits than float64 has, zeros.
  if (bit < 0) parts.mantissa >>= -bit < 63 ? -bit : 63;
  AddAt(sum.words, parts.mantissa, bit < 0 ? 0 : bit);
}

// Adds the square of a finite element to a sum of squares.
template <int kStride = 1>
WARPFOLD_HD void AddSquareAt(std::int64_t* words, const ElementParts& element) {
  const int128 square = int128{element.mantissa} * element.mantissa;
  constexpr std::int64_t kLow = (std::int64_t{1} << 62) - 1;
  AddAt<kStride>(words, static_cast<std::int64_t>(square) & kLow, 2 * element.bit);
  const auto high = static_cast<std::int64_t>(square >> 62);
  if (high != 0) AddAt<kStride>(words, high, 2 * element.bit + 62);
}

namespace internal {

// Most words of a sum are zeros, or what a sign leaves above a negative number. Those are skipped
// eight at a time.
constexpr int kSkip = 8;

WARPFOLD_HD bool AllAre(std::int64_t fill, const std::int64_t* words) {
  std::int64_t others = 0;
  WARPFOLD_UNROLL
  for (int i = 0; i < kSkip; ++i) others |= words[i] ^ fill;
  return others == 0;
}

// The first of the words from `begin` to `end` that is not 0, or `end`.
WARPFOLD_HD int SkipZeros(const std::int64_t* words, int begin, int end) {
  int w = begin;
  while (w + kSkip <= end && AllAre(0, words + w)) w += kSkip;
  while (w < end && words[w] == 0) ++w;
  return w;
}

// How many of `count` words are left without the last ones that are `fill`.
WARPFOLD_HD int WithoutLast(std::int64_t fill, const std::int64_t* words, int count) {
  while (count >= kSkip && AllAre(fill, words + count - kSkip)) count -= kSkip;
  while (count > 0 && words[count - 1] == fill) --count;
  return count;
}

}  // namespace internal

template <class Layout>
WARPFOLD_HD void Normalize(WideSum<Layout>& sum) {
  constexpr int kLast = Layout::kWords - 1;
  int w = 0;
  while ((w = internal::SkipZeros(sum.words, w, kLast)) < kLast) {
    std::int64_t carry = 0;
    for (; w < kLast && (carry != 0 || sum.words[w] != 0); ++w) {
      const std::int64_t word = sum.words[w] + carry;
      sum.words[w] = word & 0xffffffff;
      carry = word >> 32;
    }
    sum.words[w] += carry;  // of a word that is 0, or of the last
  }
}

// Adds a normalised sum.
template <class Layout>
WARPFOLD_HD void Join(WideSum<Layout>& sum, const WideSum<Layout>& other) {
  for (int w = 0; w < Layout::kWords; ++w) sum.words[w] += other.words[w];
}

// The size and the sign of a sum.
template <class Layout>
struct Magnitude {
  std::uint64_t words[Layout::kMagnitudeWords];
  bool is_negative;
  // Which of the words are set. All others stand for zeros.
  int first = 0;
  int count = Layout::kMagnitudeWords;

  WARPFOLD_HD WordsView View() const { return {words + first, count, first}; }
};

// Of a normalised sum.
template <class Layout>
WARPFOLD_HD Magnitude<Layout> MagnitudeOf(const WideSum<Layout>& sum) {
  constexpr int kLast = Layout::kWords - 1;
  static_assert(Layout::kMagnitudeWords == (kLast + 3) / 2);
  const std::int64_t last = sum.words[kLast];
  const std::int64_t sign = last >> 63;
  // As many digits as there may be, what is above the last word among them.
  const auto digit = [&](int d) -> std::uint64_t {
    if (d < kLast) return static_cast<std::uint64_t>(sum.words[d]);
    const std::int64_t bits = d == kLast ? last : d == kLast + 1 ? last >> 32 : sign;
    return static_cast<std::uint64_t>(bits) & 0xffffffff;
  };
  Magnitude<Layout> magnitude;
  magnitude.is_negative = sign != 0;
  // The digits from `begin` to `end`: below them are zeros, above them what the sign is.
  const int begin = internal::SkipZeros(sum.words, 0, kLast);
  int end = last == sign ? internal::WithoutLast(sign & 0xffffffff, sum.words, kLast) : kLast + 2;
  if (magnitude.is_negative && end == begin) ++end;  // so that a negative number has a digit
  magnitude.first = begin / 2;
  magnitude.count = end > begin ? (end + 1) / 2 - begin / 2 : 0;
  std::uint64_t carry = magnitude.is_negative ? 1 : 0;
  for (int w = magnitude.first; w < magnitude.first + magnitude.count; ++w) {
    const std::uint64_t digits = digit(2 * w) | digit(2 * w + 1) << 32;
    magnitude.words[w] = (magnitude.is_negative ? ~digits : digits) + carry;
    carry = magnitude.words[w] == 0 ? carry : 0;
  }
  return magnitude;
}

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_STATE_H_
