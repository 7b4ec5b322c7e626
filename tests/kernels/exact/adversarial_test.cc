// Hard elements are what their kinds say: sums, means, norms, variances and products lie on ties,
// or beside them, and integers at the edge of what fits.
#include "tests/kernels/exact/adversarial.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "kernels/ops/catalogue.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/exact/oracle.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold::testing {
namespace {

constexpr std::uint64_t kSeed = 20261127;

// The elements of one output and the rational numbers that its results are roundings of.
struct Drawn {
  Drawn(DType dtype, HardFloat kind, std::size_t count, std::mt19937_64& random)
      : format(FormatOfFloat(dtype)), bits(HardFloats(dtype, kind, count, random)) {
    for (const std::uint64_t x : bits) {
      if ((x & ~format.SignBit()) >= format.InfinityBits()) continue;
      const mpq_class number = NumberOf(x, format);
      sum += number;
      squares += number * number;
      product *= number;
    }
  }

  mpq_class Mean() const { return sum / count(); }
  mpq_class Variance() const { return (count() * squares - sum * sum) / (count() * count()); }
  mpq_class count() const { return static_cast<unsigned long>(bits.size()); }
  // What is a little less and a little more is rounded otherwise.
  bool IsTie(const mpq_class& value, bool root = false) const {
    const mpq_class little = PowerOfTwo(-8000);
    return NearestBits(mpq_class(abs(value) - little), format, root) !=
           NearestBits(mpq_class(abs(value) + little), format, root);
  }
  bool IsBesideTie(const mpq_class& sum_of_ties, const mpq_class& divisor) const {
    const mpq_class unit = PowerOfTwo(format.lowest_exponent);
    return !IsTie(sum_of_ties / divisor) &&
           (IsTie((sum_of_ties - unit) / divisor) || IsTie((sum_of_ties + unit) / divisor));
  }

  const Format& format;
  std::vector<std::uint64_t> bits;
  mpq_class sum, squares, product = 1;
};

class HardFloatsTest : public ::testing::TestWithParam<DType> {
 protected:
  template <class Check>
  void ForEachDraw(HardFloat kind, const Check& check) {
    std::mt19937_64 random(kSeed);
    for (int round = 0; round < Rounds(100); ++round) {
      const std::size_t count = 2 * (20 + random() % 60);
      const Drawn drawn(GetParam(), kind, count, random);
      ASSERT_EQ(drawn.bits.size(), count);
      ASSERT_TRUE(check(drawn)) << Name(GetParam()) << " round " << round << ", " << count;
    }
  }
};

TEST_P(HardFloatsTest, LieOnTies) {
  ForEachDraw(HardFloat::kSumTie, [](const Drawn& x) { return x.IsTie(x.sum); });
  ForEachDraw(HardFloat::kMeanTie, [](const Drawn& x) { return x.IsTie(x.Mean()); });
  ForEachDraw(HardFloat::kL2NormTie, [](const Drawn& x) { return x.IsTie(x.squares, true); });
  ForEachDraw(HardFloat::kVarianceTie, [](const Drawn& x) { return x.IsTie(x.Variance()); });
  ForEachDraw(HardFloat::kStdTie, [](const Drawn& x) { return x.IsTie(x.Variance(), true); });
  ForEachDraw(HardFloat::kProductTie, [](const Drawn& x) { return x.IsTie(x.product); });
}

TEST_P(HardFloatsTest, LieBesideTies) {
  ForEachDraw(HardFloat::kBesideSumTie, [](const Drawn& x) { return x.IsBesideTie(x.sum, 1); });
  ForEachDraw(HardFloat::kBesideMeanTie,
              [](const Drawn& x) { return x.IsBesideTie(x.sum, x.count()); });
  ForEachDraw(HardFloat::kAboveL2NormTie, [](const Drawn& x) {
    const mpq_class unit = PowerOfTwo(2 * x.format.lowest_exponent);
    return !x.IsTie(x.squares, true) && x.IsTie(x.squares - unit, true);
  });
}

TEST_P(HardFloatsTest, CancelFarFromZeroAndAreZeros) {
  ForEachDraw(HardFloat::kCancellingPairs, [](const Drawn& x) {
    return std::any_of(x.bits.begin(), x.bits.end(),
                       [&](std::uint64_t bits) { return NumberOf(bits, x.format) == x.sum; });
  });
  ForEachDraw(HardFloat::kConstant,
              [](const Drawn& x) { return x.Variance() == 0 && abs(x.Mean()) >= 2; });
  ForEachDraw(HardFloat::kOffset, [](const Drawn& x) {
    return x.Variance() != 0 && x.Variance() * 16 < x.Mean() * x.Mean();
  });
  ForEachDraw(HardFloat::kNegativeZeros, [](const Drawn& x) {
    return std::set(x.bits.begin(), x.bits.end()) == std::set{x.format.SignBit()};
  });
  ForEachDraw(HardFloat::kSignedZeros, [](const Drawn& x) {
    return std::set(x.bits.begin(), x.bits.end()) == std::set{std::uint64_t{0}, x.format.SignBit()};
  });
}

// Among many draws.
TEST_P(HardFloatsTest, ReachTheEndsOfTheType) {
  std::set<std::uint64_t> sums;
  bool has_subnormal = false;
  ForEachDraw(HardFloat::kHuge, [&](const Drawn& x) {
    sums.insert(NearestBits(x.sum, x.format));
    return true;
  });
  ForEachDraw(HardFloat::kSubnormals, [&](const Drawn& x) {
    has_subnormal |= NearestBits(x.sum, x.format) < std::uint64_t{1} << (x.format.precision - 1);
    return true;
  });
  const std::uint64_t infinity = FormatOfFloat(GetParam()).InfinityBits();
  EXPECT_TRUE(sums.contains(infinity));
  EXPECT_LT(*sums.begin(), infinity);
  EXPECT_TRUE(has_subnormal);
  bool has_nan = false, has_infinity = false, is_nan_alone = false;
  ForEachDraw(HardFloat::kSpecials, [&](const Drawn& x) {
    const auto size = [&](std::uint64_t bits) { return bits & ~x.format.SignBit(); };
    const auto is_nan = [&](std::uint64_t bits) { return size(bits) > infinity; };
    has_nan |= std::any_of(x.bits.begin(), x.bits.end(), is_nan);
    is_nan_alone |= std::all_of(x.bits.begin(), x.bits.end(), is_nan);
    has_infinity |= std::any_of(x.bits.begin(), x.bits.end(),
                                [&](std::uint64_t bits) { return size(bits) == infinity; });
    return true;
  });
  EXPECT_TRUE(has_nan && has_infinity && is_nan_alone);
}

TEST_P(HardFloatsTest, OfAnyCountAndTheSameForTheSameEngine) {
  for (const HardFloat kind : kHardFloats) {
    for (const std::size_t count : {0, 1, 2, 3, 7, 5000}) {
      std::mt19937_64 random(kSeed), again(kSeed);
      const std::vector<std::uint64_t> bits = HardFloats(GetParam(), kind, count, random);
      EXPECT_EQ(bits.size(), count) << static_cast<int>(kind);
      EXPECT_EQ(bits, HardFloats(GetParam(), kind, count, again)) << static_cast<int>(kind);
    }
  }
}

// Floats of 8 bits have no ties: no result is rounded to them.
INSTANTIATE_TEST_SUITE_P(Floats, HardFloatsTest,
                         ::testing::Values(DType::kF16, DType::kBF16, DType::kF32, DType::kF64),
                         [](const auto& info) { return std::string(Name(info.param)); });

// The exact SUM or PROD of one draw of integers, and whether it fits.
struct Exact {
  mpz_class value;
  bool fits;
};
Exact ExactOf(DType dtype, Op op, const std::vector<std::uint64_t>& bits) {
  std::vector<char> data(bits.size() * ElementBytes(dtype));
  for (std::size_t i = 0; i < bits.size(); ++i) {
    std::memcpy(&data[i * ElementBytes(dtype)], &bits[i], ElementBytes(dtype));
  }
  const ReduceSpec spec{
      .dtype = dtype, .shape = {static_cast<std::int64_t>(bits.size())}, .ops = {op}};
  const Answer answer = ReductionAnswers(spec, data.data())[0];
  if (answer.op_overflow != Answer::kAllFit) return {answer.overflow_value, false};
  std::int64_t number;
  std::memcpy(&number, answer.bytes.data(), sizeof(number));
  const bool is_unsigned = ResultDType(op, dtype) == DType::kU64;
  return {is_unsigned ? mpz_class(static_cast<unsigned long>(number)) : mpz_class(number), true};
}

TEST(HardIntegersTest, SumsAndProductsAreAtTheEdge) {
  const mpz_class half = mpz_class(1) << 63, whole = mpz_class(1) << 64;
  for (const DType dtype : kAllDTypes) {
    if (IsFloat(dtype) || dtype == DType::kBool) continue;
    const bool is_unsigned = ResultDType(Op::kSum, dtype) == DType::kU64;
    std::mt19937_64 random(kSeed);
    for (int round = 0; round < Rounds(100); ++round) {
      const auto draw = [&](HardInteger kind, Op op) {
        return ExactOf(dtype, op, HardIntegers(dtype, kind, 20 + random() % 60, random));
      };
      if (ElementBytes(dtype) == 8) {
        const Exact fits = draw(HardInteger::kSumFits, Op::kSum);
        EXPECT_TRUE(fits.fits);
        EXPECT_TRUE(is_unsigned ? fits.value == whole - 1
                                : fits.value == half - 1 || fits.value == -half)
            << Name(dtype) << " " << fits.value;
        const Exact does_not = draw(HardInteger::kSumDoesNotFit, Op::kSum);
        EXPECT_FALSE(does_not.fits);
        EXPECT_TRUE(is_unsigned ? does_not.value == whole
                                : does_not.value == half || does_not.value == -half - 1)
            << Name(dtype) << " " << does_not.value;
      }
      const Exact fits = draw(HardInteger::kProductFits, Op::kProd);
      EXPECT_TRUE(fits.fits);
      EXPECT_TRUE(is_unsigned ? fits.value >= half : abs(fits.value) >= half - 1)
          << Name(dtype) << " " << fits.value;
      const Exact does_not = draw(HardInteger::kProductDoesNotFit, Op::kProd);
      EXPECT_FALSE(does_not.fits);
      EXPECT_LE(does_not.value, is_unsigned ? 2 * whole : whole) << Name(dtype);
    }
  }
}

// Each output's elements are where the judge looks for them.
TEST(HardTensorTest, HoldsHardElementsInEachOutput) {
  std::mt19937_64 random(kSeed);
  int ties = 0;
  for (int round = 0; round < 50; ++round) {
    const ReduceSpec spec{
        .dtype = DType::kF32, .shape = {40, 3, 2}, .ops = {Op::kSum}, .axes = {0, 2}};
    const std::vector<char> tensor = HardTensor(spec, random);
    ASSERT_EQ(tensor.size(), 40 * 3 * 2 * sizeof(float));
    mpq_class sums[3];
    for (std::size_t i = 0; i < tensor.size() / sizeof(float); ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, &tensor[i * sizeof(float)], sizeof(bits));
      if ((bits & 0x7fffffff) < 0x7f800000) sums[i / 2 % 3] += NumberOf(bits, kFormats[2]);
    }
    for (const mpq_class& sum : sums) {
      const mpq_class little = PowerOfTwo(-300);
      const mpq_class size = abs(sum);
      ties += sum != 0 && NearestBits(mpq_class(size - little), kFormats[2]) !=
                              NearestBits(mpq_class(size + little), kFormats[2]);
    }
  }
  EXPECT_GE(ties, 5);
}

}  // namespace
}  // namespace warpfold::testing
