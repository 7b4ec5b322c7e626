#include "kernels/exact/wire.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/exact/rounding.h"

namespace warpfold::exact {
namespace {

constexpr std::uint8_t kNegativeFlag = 16;
constexpr std::uint8_t kSpecialFlags = 15;
constexpr std::size_t kHeadBytes = 4;
constexpr std::size_t kDigitBytes = 4;

// x * 2^shift.
Natural NaturalOf(std::uint64_t x, int shift) {
  const std::uint64_t words[] = {x << (shift % 64), shift % 64 == 0 ? 0 : x >> (64 - shift % 64)};
  return exact::NaturalOf(WordsView{words, 2, shift / 64});
}

Natural Multiply(const Natural& a, const Natural& b) {
  std::uint64_t product[2 * Natural::kWordsMax] = {};
  for (int i = 0; i < a.count; ++i) {
    std::uint64_t carry = 0;
    for (int j = 0; j < b.count; ++j) {
      const uint128 sum = uint128{a.words[i]} * b.words[j] + product[i + j] + carry;
      product[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    product[i + b.count] = carry;
  }
  return exact::NaturalOf(WordsView{product, a.count + b.count, a.first + b.first});
}

bool IsAtMost(const Natural& a, const Natural& b) {
  const WordsView x = a.View();
  const WordsView y = b.View();
  for (int w = std::max(a.first + a.count, b.first + b.count) - 1; w >= 0; --w) {
    if (x[w] != y[w]) return x[w] < y[w];
  }
  return true;
}

std::uint32_t DigitOf(const Natural& a, int d) {
  return static_cast<std::uint32_t>(a.View()[d / 2] >> (32 * (d % 2)));
}

// Of those that hide a sum the ones that travel: what a NaN leaves unseen depends on who looks.
std::uint32_t SpecialsThatTravel(std::uint32_t specials) {
  if ((specials & kHasNan) != 0) return kHasNan;
  const std::uint32_t infinities = specials & kNotFinite;
  return infinities != 0 ? infinities : specials;
}

// A number's bit, counted from the last that elements have.
bool IsOdd(const Natural& a, int bit) { return (BitsFrom(a.View(), bit) & 1) != 0; }

bool IsMultiple(const Natural& a, int bits) { return !AnyBelow(a.View(), bits); }

template <typename T>
SumRange RangeOf(int power) {
  SumRange range;
  if constexpr (kIsFloat<T>) {
    range.is_of_floats = true;
    using Sum = Lifted<T>;
    constexpr int kUnit = internal::ElementRange<Sum>::kUnit;
    range.has_infinities = kHasInfinities<T>;
    range.digits =
        ((power == 1 ? DigitLayout<Sum, 1>::kBits : DigitLayout<Sum, 2>::kBits) + 31) / 32;
    // Without infinities the largest exponent is one of numbers; all bits set are a NaN.
    constexpr int kPrecision = FloatFormat<T>::kPrecision;
    constexpr int kLastPlace = (1 << (FloatFormat<T>::kExponentBits - 1)) - kPrecision;
    constexpr std::uint64_t kAllBits = (std::uint64_t{1} << kPrecision) - 1;
    range.largest = kHasInfinities<T> ? NaturalOf(kAllBits, kLastPlace - kUnit)
                                      : NaturalOf(kAllBits - 1, kLastPlace + 1 - kUnit);
    // bf16 has f32's units, in which its subnormal numbers, too, are multiples of 2^16.
    range.zero_bits = kLowestExponent<T> - kUnit;
  } else if constexpr (std::is_same_v<T, Bool>) {
    range = RangeOf<std::uint8_t>(power);
    range.largest = NaturalOf(1, 0);
  } else {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    range.may_be_negative = std::numeric_limits<T>::is_signed;
    range.largest = NaturalOf(std::numeric_limits<T>::is_signed ? kMost + 1 : kMost, 0);
    range.digits = power == 2 && kIsWideInteger<T> ? 6 : 4;
  }
  return range;
}

}  // namespace

Natural NaturalOf(WordsView words) {
  int begin = 0;
  int end = words.count;
  while (end > 0 && words.words[end - 1] == 0) --end;
  while (begin < end && words.words[begin] == 0) ++begin;
  Natural natural;
  natural.count = end - begin;
  natural.first = natural.count > 0 ? words.first + begin : 0;
  std::copy(words.words + begin, words.words + end, natural.words);
  return natural;
}

SumRange SumRangeOf(DType dtype, int power) {
  return VisitDType(dtype, [&](auto tag) { return RangeOf<typename decltype(tag)::type>(power); });
}

std::size_t SumBytesMax(const SumRange& range) {
  return kHeadBytes + kDigitBytes * static_cast<std::size_t>(range.digits);
}

void AppendSum(const SumValue& value, std::string* bytes) {
  const std::uint32_t specials = SpecialsThatTravel(value.specials);
  const Natural& size = value.size;
  const bool has_digits = size.count > 0 && (specials & kNotFinite) == 0;
  int begin = 0;
  int end = 0;
  if (has_digits) {
    begin = 2 * size.first + (static_cast<std::uint32_t>(size.words[0]) == 0 ? 1 : 0);
    end = 2 * (size.first + size.count);
    if (size.words[size.count - 1] >> 32 == 0) --end;
  }
  const bool is_negative = has_digits && value.is_negative;
  bytes->push_back(static_cast<char>(specials | (is_negative ? kNegativeFlag : 0)));
  bytes->push_back(static_cast<char>(end - begin));
  bytes->push_back(static_cast<char>(begin & 0xff));
  bytes->push_back(static_cast<char>(begin >> 8));
  for (int d = begin; d < end; ++d) {
    const std::uint32_t digit = DigitOf(size, d);
    for (int byte = 0; byte < 4; ++byte) bytes->push_back(static_cast<char>(digit >> (8 * byte)));
  }
}

bool TakeSum(absl::string_view* bytes, const SumRange& range, SumValue* value) {
  if (bytes->size() < kHeadBytes) return false;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>((*bytes)[i]); };
  const std::uint32_t specials = byte(0) & kSpecialFlags;
  const bool is_negative = (byte(0) & kNegativeFlag) != 0;
  if (is_negative && !range.may_be_negative) return false;
  const int digits = byte(1);
  const int begin = byte(2) | byte(3) << 8;
  const std::size_t size = kHeadBytes + kDigitBytes * static_cast<std::size_t>(digits);
  if ((byte(0) & ~(kSpecialFlags | kNegativeFlag)) != 0 || bytes->size() < size) return false;
  if (specials != SpecialsThatTravel(specials) || (specials != 0 && !range.is_of_floats)) {
    return false;
  }
  constexpr std::uint32_t kInfinities = kHasPositiveInfinity | kHasNegativeInfinity;
  if ((specials & kInfinities) != 0 && !range.has_infinities) return false;
  if (digits == 0) {
    if (begin != 0 || is_negative) return false;
  } else {
    const bool may_have_digits = !range.is_of_floats || specials == kHasOtherThanNegativeZero;
    if (!may_have_digits || begin + digits > range.digits) return false;
  }
  std::uint64_t words[Natural::kWordsMax] = {};
  for (int d = 0; d < digits; ++d) {
    std::uint32_t digit = 0;
    for (int i = 0; i < 4; ++i) {
      digit |= std::uint32_t{byte(kHeadBytes + kDigitBytes * static_cast<std::size_t>(d) +
                                  static_cast<std::size_t>(i))}
               << (8 * i);
    }
    if (digit == 0 && (d == 0 || d == digits - 1)) return false;
    words[(begin + d) / 2] |= std::uint64_t{digit} << (32 * ((begin + d) % 2));
  }
  *value = {specials, is_negative, NaturalOf(WordsView{words, Natural::kWordsMax, 0})};
  bytes->remove_prefix(size);
  return true;
}

bool MayBeSums(const SumValues& values, std::int64_t count, const SumRange& elements) {
  const SumValue* const all[] = {values.sum, values.absolute_sum, values.squares};
  const SumValue* any = nullptr;
  for (const SumValue* value : all) {
    if (value == nullptr) continue;
    if (any != nullptr && value->specials != any->specials) return false;
    any = value;
    if (count == 0 && (value->specials != 0 || value->size.count != 0)) return false;
  }
  if (any == nullptr || count == 0 || (any->specials & kNotFinite) != 0) return true;
  const Natural n = NaturalOf(static_cast<std::uint64_t>(count), 0);
  const Natural most = Multiply(n, elements.largest);
  const int bits = elements.zero_bits;
  if (values.sum != nullptr) {
    if (!IsAtMost(values.sum->size, most) || !IsMultiple(values.sum->size, bits)) return false;
  }
  if (values.absolute_sum != nullptr) {
    const Natural& absolute_sum = values.absolute_sum->size;
    if (values.absolute_sum->is_negative || !IsAtMost(absolute_sum, most) ||
        !IsMultiple(absolute_sum, bits)) {
      return false;
    }
    if (values.sum != nullptr && (!IsAtMost(values.sum->size, absolute_sum) ||
                                  IsOdd(values.sum->size, bits) != IsOdd(absolute_sum, bits))) {
      return false;
    }
  }
  if (values.squares == nullptr) return true;
  const Natural& squares = values.squares->size;
  if (values.squares->is_negative || !IsMultiple(squares, 2 * bits) ||
      !IsAtMost(squares, Multiply(most, elements.largest))) {
    return false;
  }
  // Of integers x, in units of the last bit that they may have, x^2 is as odd as x is, and no less
  // than its size; and n times the sum of squares is no less than the square of either sum.
  const auto fits = [&](const SumValue* of, bool are_sizes) {
    if (of == nullptr) return true;
    if (IsOdd(of->size, bits) != IsOdd(squares, 2 * bits)) return false;
    if (!IsAtMost(Multiply(of->size, of->size), Multiply(n, squares))) return false;
    return !are_sizes || (IsAtMost(Multiply(of->size, NaturalOf(1, bits)), squares) &&
                          IsAtMost(squares, Multiply(of->size, elements.largest)));
  };
  return fits(values.sum, false) && fits(values.absolute_sum, true);
}

}  // namespace warpfold::exact
