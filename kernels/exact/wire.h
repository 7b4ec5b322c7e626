// Exact sums as they travel, from whoever sums a part of a tensor to whoever joins the parts: equal
// sums are equal bytes, and bytes that no elements come to are refused.
//
// A sum is, little-endian: a byte of flags, bits 0 to 3 exact::Specials, bit 4 set of a negative
// number; a byte, how many digits follow; two bytes, the number of the lowest of them; the digits,
// of 32 bits each, the lowest first, of which neither the first nor the last is 0. Digit i stands
// for digit * 2^(32 i + unit). Where there is a NaN, that is the one flag; where there are
// infinities, those are; and either has no digits.
//
// Host code; pure functions, safe from any thread.
#ifndef WARPFOLD_KERNELS_EXACT_WIRE_H_
#define WARPFOLD_KERNELS_EXACT_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/exact/state.h"
#include "kernels/exact/words.h"
#include "kernels/host_device.h"

namespace warpfold::exact {

// An unsigned integer; words[i] stands for words[i] * 2^(64 (first + i)), and neither the first nor
// the last of them is 0. Zero has none.
struct Natural {
  // The largest: a sum of float64 squares, times a count.
  static constexpr int kWordsMax = 72;

  int first = 0;
  int count = 0;
  std::uint64_t words[kWordsMax];

  WordsView View() const { return {words, count, first}; }
};
Natural NaturalOf(WordsView words);

// One sum of one output.
struct SumValue {
  std::uint32_t specials = 0;  // of floats
  bool is_negative = false;
  Natural size;
};

// What is known of a sum from its dtype: of elements (power 1), or of their squares (2).
struct SumRange {
  bool is_of_floats = false;
  bool has_infinities = false;
  bool may_be_negative = true;
  int digits = 0;     // of the largest sum of 2^63 elements
  Natural largest;    // size of an element, in units
  int zero_bits = 0;  // that every element ends in
};
SumRange SumRangeOf(DType dtype, int power);

// Of a normalised sum.
template <class Layout>
SumValue ValueOf(const WideSum<Layout>& sum, std::uint32_t specials) {
  const Magnitude<Layout> magnitude = MagnitudeOf(sum);
  return {specials, magnitude.is_negative, NaturalOf(magnitude.View())};
}
// Adds the number to a sum, which has to be normalised then. REQUIRES: it was read with the range
// of the sum's element type.
template <class Layout>
void AddValue(const SumValue& value, WideSum<Layout>* sum) {
  constexpr int kLast = Layout::kWords - 1;
  const WordsView words = value.size.View();
  const std::int64_t sign = value.is_negative ? -1 : 1;
  for (int w = words.first; w < words.first + words.count; ++w) {
    for (const int half : {0, 1}) {
      const auto digit = static_cast<std::int64_t>(words[w] >> (32 * half) & 0xffffffff);
      const int d = 2 * w + half;
      if (d <= kLast) {
        sum->words[d] += sign * digit;
      } else {
        sum->words[kLast] += sign * digit * (std::int64_t{1} << 32);
      }
    }
  }
}

// Bytes of the largest sum.
std::size_t SumBytesMax(const SumRange& range);
void AppendSum(const SumValue& value, std::string* bytes);
// Takes a sum from the front of `bytes`. False: there is none, or not in the form above.
[[nodiscard]] bool TakeSum(absl::string_view* bytes, const SumRange& range, SumValue* value);

// Whether `count` elements may have these sums; null is what nobody asks for.
struct SumValues {
  const SumValue* sum = nullptr;
  const SumValue* absolute_sum = nullptr;
  const SumValue* squares = nullptr;
};
[[nodiscard]] bool MayBeSums(const SumValues& values, std::int64_t count, const SumRange& elements);

}  // namespace warpfold::exact

#endif  // WARPFOLD_KERNELS_EXACT_WIRE_H_
