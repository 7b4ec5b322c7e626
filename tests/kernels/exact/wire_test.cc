// Exact sums as they travel: equal sums are equal bytes, whoever added them up, and bytes that no
// elements come to are refused.
#include "kernels/exact/wire.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/dtypes/element.h"
#include "kernels/exact/sums.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/exact/hard_rows.h"

namespace warpfold {
namespace {

using exact::SumRange;
using exact::SumsState;
using exact::SumValue;
using testing::Draw;

template <typename T>
using State = SumsState<T, exact::Sums::kStatistics>;

template <typename T>
void AddElement(State<T>& state, T x) {
  if (IsNan(x)) {
    state.specials |= exact::kHasNan;
    return;
  }
  using Bits = typename exact::FloatFormat<T>::Bits;
  if (BitCast<Bits>(x) != BitCast<Bits>(RoundFromDouble<T>(-0.0))) {
    state.specials |= exact::kHasOtherThanNegativeZero;
  }
  if (IsInf(x)) {
    state.specials |= Widen(x) < 0 ? exact::kHasNegativeInfinity : exact::kHasPositiveInfinity;
    return;
  }
  exact::ElementParts parts = exact::PartsOf(x);
  exact::AddAt(state.sum.words, parts.mantissa, parts.bit);
  exact::AddSquareAt(state.squares.words, parts);
  if (parts.mantissa < 0) parts.mantissa = -parts.mantissa;
  exact::AddAt(state.absolute_sum.words, parts.mantissa, parts.bit);
}

template <typename T>
std::string BytesOf(State<T> state) {
  exact::Normalize(state);
  std::string bytes;
  exact::AppendSum(exact::ValueOf(state.sum, state.specials), &bytes);
  exact::AppendSum(exact::ValueOf(state.absolute_sum, state.specials), &bytes);
  exact::AppendSum(exact::ValueOf(state.squares, state.specials), &bytes);
  return bytes;
}

struct Values {
  SumValue sum, absolute_sum, squares;

  exact::SumValues All() const { return {&sum, &absolute_sum, &squares}; }
};

template <typename T>
bool Take(absl::string_view bytes, Values* values) {
  const SumRange elements = exact::SumRangeOf(kDTypeOf<T>, 1);
  return exact::TakeSum(&bytes, elements, &values->sum) &&
         exact::TakeSum(&bytes, elements, &values->absolute_sum) &&
         exact::TakeSum(&bytes, exact::SumRangeOf(kDTypeOf<T>, 2), &values->squares) &&
         bytes.empty();
}

template <typename T>
class WireTest : public ::testing::Test {
 protected:
  std::vector<T> AnyRow() {
    Draw draw(random_);
    const testing::HardFloat kind =
        testing::kHardFloats[draw.UpTo(std::size(testing::kHardFloats) - 1)];
    return testing::HardRow<T>(kind, static_cast<std::size_t>(draw.Between(1, 60)), random_);
  }

  std::mt19937_64 random_{20261127};
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(WireTest, Floats);

TYPED_TEST(WireTest, EqualSumsAreEqualBytes) {
  using T = TypeParam;
  for (int round = 0; round < testing::Rounds(500); ++round) {
    std::vector<T> row = this->AnyRow();
    State<T> whole, left, right;
    for (const T x : row) AddElement(whole, x);
    std::shuffle(row.begin(), row.end(), this->random_);
    for (const T x : row) AddElement(this->random_() % 2 == 0 ? left : right, x);
    exact::Normalize(left);
    exact::Normalize(right);
    exact::Join(left, right);
    ASSERT_EQ(BytesOf(left), BytesOf(whole));
  }
}

TYPED_TEST(WireTest, WhatIsTakenIsWhatWasAppended) {
  using T = TypeParam;
  for (int round = 0; round < testing::Rounds(500); ++round) {
    const std::vector<T> row = this->AnyRow();
    State<T> state;
    for (const T x : row) AddElement(state, x);
    exact::Normalize(state);
    const std::string bytes = BytesOf(state);
    Values values;
    ASSERT_TRUE(Take<T>(bytes, &values));
    State<T> taken;
    taken.specials = values.sum.specials;
    exact::AddValue(values.sum, &taken.sum);
    exact::AddValue(values.absolute_sum, &taken.absolute_sum);
    exact::AddValue(values.squares, &taken.squares);
    ASSERT_EQ(BytesOf(taken), bytes);
    if ((state.specials & exact::kNotFinite) == 0) {
      exact::Normalize(taken);
      EXPECT_TRUE(std::equal(std::begin(taken.sum.words), std::end(taken.sum.words),
                             std::begin(state.sum.words)));
      EXPECT_TRUE(std::equal(std::begin(taken.squares.words), std::end(taken.squares.words),
                             std::begin(state.squares.words)));
    }
    // They may be what they are, together and alone.
    const auto count = static_cast<std::int64_t>(row.size());
    const SumRange elements = exact::SumRangeOf(kDTypeOf<T>, 1);
    ASSERT_TRUE(exact::MayBeSums(values.All(), count, elements));
    for (int missing = 0; missing < 3; ++missing) {
      exact::SumValues some = values.All();
      (missing == 0 ? some.sum : missing == 1 ? some.absolute_sum : some.squares) = nullptr;
      ASSERT_TRUE(exact::MayBeSums(some, count, elements));
    }
  }
}

// Bytes that were changed, and any bytes: what is taken is what would be appended.
TYPED_TEST(WireTest, NothingIsTakenInTwoForms) {
  using T = TypeParam;
  std::cout << "seed 20261127\n";
  int taken = 0;
  int high = 0;
  for (int round = 0; round < testing::Rounds(20'000); ++round) {
    Draw draw(this->random_);
    State<T> state;
    for (const T x : this->AnyRow()) AddElement(state, x);
    std::string bytes = BytesOf(state);
    for (long changes = draw.Between(1, 3); changes > 0; --changes) {
      const auto at = draw.UpTo(draw.OneIn(2) ? 3 : bytes.size() - 1);
      bytes[at] = static_cast<char>(draw.OneIn(2) ? draw.UpTo(31) : draw.Bits());
    }
    if (draw.OneIn(4)) bytes.resize(draw.UpTo(bytes.size()));
    for (const int power : {1, 2}) {
      absl::string_view rest = bytes;
      SumValue value;
      if (!exact::TakeSum(&rest, exact::SumRangeOf(kDTypeOf<T>, power), &value)) continue;
      ++taken;
      std::string again;
      exact::AppendSum(value, &again);
      ASSERT_EQ(again, bytes.substr(0, bytes.size() - rest.size()));
      // Of as many elements as there may be, it fits a sum.
      constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max();
      if (power == 1 && exact::MayBeSums({&value, nullptr, nullptr}, kCountMax,
                                         exact::SumRangeOf(kDTypeOf<T>, 1))) {
        exact::WideSum<exact::DigitLayout<T, 1>> sum;
        exact::AddValue(value, &sum);
        exact::Normalize(sum);
        std::string of_sum;
        exact::AppendSum(exact::ValueOf(sum, value.specials), &of_sum);
        ASSERT_EQ(of_sum, again);
        high += value.size.count > 0 && value.size.first + value.size.count ==
                                            exact::DigitLayout<T, 1>::kMagnitudeWords
                    ? 1
                    : 0;
      }
      // Whatever it is, to look at it is safe.
      const exact::SumValues all = {&value, draw.OneIn(2) ? &value : nullptr, &value};
      (void)exact::MayBeSums(all, static_cast<std::int64_t>(draw.Bits() >> 1),
                             exact::SumRangeOf(kDTypeOf<T>, 1));
    }
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(high, 10);
}

TEST(WireFormatTest, HasTheBytesOfItsDescription) {
  State<float> state;
  AddElement(state, -1.5f);
  // 3 * 2^148 units, digit 4 of 32 bits; its square 9 * 2^296, digit 9.
  const std::string minus("\x18\x01\x04\x00\x00\x00\x30\x00", 8);
  const std::string plus("\x08\x01\x04\x00\x00\x00\x30\x00", 8);
  const std::string square("\x08\x01\x09\x00\x00\x09\x00\x00", 8);
  EXPECT_EQ(BytesOf(state), minus + plus + square);
  EXPECT_EQ(BytesOf(State<float>{}), std::string(12, '\0'));
  AddElement(state, Infinity<float>(true));
  EXPECT_EQ(BytesOf(state), std::string("\x04\0\0\0\x04\0\0\0\x04\0\0\0", 12));
  AddElement(state, QuietNan<float>());
  EXPECT_EQ(BytesOf(state), std::string("\x01\0\0\0\x01\0\0\0\x01\0\0\0", 12));
}

TEST(WireFormatTest, RefusesWhatIsNotInItsForm) {
  const auto is_taken = [](const std::string& bytes) {
    absl::string_view rest = bytes;
    SumValue value;
    return exact::TakeSum(&rest, exact::SumRangeOf(kDTypeOf<float>, 1), &value);
  };
  const std::string good("\x08\x02\x03\x00\x01\x00\x00\x00\x01\x00\x00\x00", 12);
  ASSERT_TRUE(is_taken(good));
  const auto with = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  EXPECT_FALSE(is_taken(good.substr(0, 11))) << "too short for its digits";
  EXPECT_FALSE(is_taken(good.substr(0, 3))) << "no head";
  EXPECT_FALSE(is_taken(with(0, '\x28'))) << "a reserved flag";
  EXPECT_FALSE(is_taken(with(0, '\x00'))) << "digits of negative zeros";
  EXPECT_FALSE(is_taken(with(0, '\x01'))) << "digits beside a NaN";
  EXPECT_FALSE(is_taken(with(0, '\x09'))) << "two ways to say that there is a NaN";
  EXPECT_FALSE(is_taken(with(2, '\x0a'))) << "digits 10 and 11 of 11";
  EXPECT_FALSE(is_taken(with(3, '\x01'))) << "digits from 259 on";
  EXPECT_FALSE(is_taken(with(4, '\x00'))) << "the lowest digit is 0";
  EXPECT_FALSE(is_taken(with(8, '\x00'))) << "the highest digit is 0";
  EXPECT_TRUE(is_taken(std::string("\x08\0\0\0", 4)));
  EXPECT_FALSE(is_taken(std::string("\x18\0\0\0", 4))) << "zero has no sign";
  EXPECT_FALSE(is_taken(std::string("\x08\0\x01\0", 4))) << "nor a place";
}

TEST(WireFormatTest, RefusesWhatNoElementsComeTo) {
  // In units of 2^-24, of which the largest f16 has 65504 * 2^24.
  const SumRange halves = exact::SumRangeOf(kDTypeOf<Half>, 1);
  const auto value = [](std::int64_t size) {
    const std::uint64_t word = static_cast<std::uint64_t>(size < 0 ? -size : size);
    return SumValue{exact::kHasOtherThanNegativeZero, size < 0,
                    exact::NaturalOf(exact::WordsView{&word, 1, 0})};
  };
  const auto may_be = [&](std::int64_t count, std::int64_t sum, std::int64_t absolute_sum,
                          std::int64_t squares) {
    const SumValue values[] = {value(sum), value(absolute_sum), value(squares)};
    return exact::MayBeSums({&values[0], &values[1], &values[2]}, count, halves);
  };
  EXPECT_TRUE(may_be(3, 2, 6, 14)) << "3 - 2 + 1";
  EXPECT_FALSE(may_be(0, 2, 6, 14)) << "of no elements";
  EXPECT_FALSE(may_be(3, 8, 6, 14)) << "more than the absolute values";
  EXPECT_FALSE(may_be(3, 3, 6, 14)) << "odd, where they are even";
  EXPECT_FALSE(may_be(3, 2, 6, 13)) << "squares are as odd as what they are of";
  EXPECT_FALSE(may_be(3, 2, 6, 4)) << "squares of whole numbers are no less";
  EXPECT_FALSE(may_be(3, 2, 6, 10)) << "nor 3 times their sum than 6^2";
  EXPECT_FALSE(may_be(3, 2, -6, 14)) << "sizes have no sign";
  EXPECT_FALSE(may_be(3, 2, 6, -14)) << "nor have squares";
  constexpr std::int64_t kLargest = std::int64_t{65504} << 24;
  const SumValue at_most = value(-3 * kLargest);
  const SumValue more = value(3 * kLargest + 1);
  EXPECT_TRUE(exact::MayBeSums({&at_most, nullptr, nullptr}, 3, halves));
  EXPECT_FALSE(exact::MayBeSums({&more, nullptr, nullptr}, 3, halves));
  EXPECT_FALSE(exact::MayBeSums({nullptr, &more, nullptr}, 3, halves));
  // Not all elements' specials are known, or some are.
  SumValue nan;
  nan.specials = exact::kHasNan;
  EXPECT_TRUE(exact::MayBeSums({&nan, &nan, &nan}, 3, halves));
  EXPECT_FALSE(exact::MayBeSums({&nan, &at_most, &nan}, 3, halves));
  EXPECT_FALSE(exact::MayBeSums({&nan, nullptr, nullptr}, 0, halves));
  // bf16 in units of f32, of which each is 2^16.
  const SumValue odd = value(1), even = value(1 << 16);
  EXPECT_FALSE(
      exact::MayBeSums({&odd, nullptr, nullptr}, 3, exact::SumRangeOf(kDTypeOf<BFloat16>, 1)));
  EXPECT_TRUE(
      exact::MayBeSums({&even, nullptr, nullptr}, 3, exact::SumRangeOf(kDTypeOf<BFloat16>, 1)));
}

// In f16's units, of which the smallest f8_e4m3 is 2^15 and the largest 448 * 2^24.
TEST(WireFormatTest, FloatsOfEightBitsHaveTheirOwnRange) {
  const SumRange range = exact::SumRangeOf(kDTypeOf<F8E4M3>, 1);
  const auto may_be = [&](std::int64_t size) {
    const auto word = static_cast<std::uint64_t>(size);
    const SumValue value{exact::kHasOtherThanNegativeZero, false,
                         exact::NaturalOf(exact::WordsView{&word, 1, 0})};
    return exact::MayBeSums({&value, nullptr, nullptr}, 3, range);
  };
  constexpr std::int64_t kUnit = 1 << 15;
  EXPECT_TRUE(may_be(kUnit));
  EXPECT_FALSE(may_be(kUnit / 2));
  constexpr std::int64_t kLargest = std::int64_t{448} << 24;
  EXPECT_TRUE(may_be(3 * kLargest));
  EXPECT_FALSE(may_be(3 * kLargest + kUnit));
  // f8_e4m3 has no infinities.
  const std::string infinity("\x02\0\0\0", 4);
  for (const auto& [of, is_there] :
       {std::pair{range, false}, std::pair{exact::SumRangeOf(kDTypeOf<F8E5M2>, 1), true}}) {
    absl::string_view rest = infinity;
    SumValue value;
    EXPECT_EQ(exact::TakeSum(&rest, of, &value), is_there);
  }
}

TEST(WireFormatTest, IntegersHaveNoFlags) {
  const std::string minus_one("\x10\x01\0\0\x01\0\0\0", 8);
  absl::string_view rest = minus_one;
  SumValue value;
  ASSERT_TRUE(exact::TakeSum(&rest, exact::SumRangeOf(kDTypeOf<std::int64_t>, 1), &value));
  EXPECT_TRUE(value.is_negative);
  const std::string flagged("\x08\x01\0\0\x01\0\0\0", 8);
  rest = flagged;
  EXPECT_FALSE(exact::TakeSum(&rest, exact::SumRangeOf(kDTypeOf<std::int64_t>, 1), &value));
  // The largest bool is 1, and the smallest int8 -128.
  const std::uint64_t words[] = {128, 2};
  const SumValue of_128{0, true, exact::NaturalOf(exact::WordsView{words, 1, 0})};
  const SumValue of_2{0, false, exact::NaturalOf(exact::WordsView{words + 1, 1, 0})};
  EXPECT_TRUE(exact::MayBeSums({&of_128, nullptr, nullptr}, 1,
                               exact::SumRangeOf(kDTypeOf<std::int8_t>, 1)));
  EXPECT_FALSE(
      exact::MayBeSums({&of_2, nullptr, nullptr}, 1, exact::SumRangeOf(kDTypeOf<Bool>, 1)));
  EXPECT_TRUE(exact::MayBeSums({&of_2, nullptr, nullptr}, 2, exact::SumRangeOf(kDTypeOf<Bool>, 1)));
}

}  // namespace
}  // namespace warpfold
