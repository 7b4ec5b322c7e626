// Results of bounded sums against the oracle: each that is given is the real one rounded once,
// however the elements were added up, and few are undecided.
#include "kernels/exact/bounded.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/exact/bounded_finish.h"
#include "kernels/exact/windowed_sums.h"
#include "kernels/fold.h"
#include "kernels/ops/catalogue.h"
#include "kernels/plan.h"
#include "kernels/types.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/exact/hard_rows.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold {
namespace {

using testing::Draw;
using testing::HardFloat;

constexpr Op kRoundedOps[] = {Op::kSum, Op::kMean, Op::kL1Norm, Op::kL2Norm, Op::kVar, Op::kStd};

// The tile's sums that need its extrema, which `acc` has, as a GPU adds them up: in lanes, of which
// some have several values.
template <class F>
void AddWindowedSums(const std::vector<typename F::Element>& tile, Draw& draw,
                     typename F::Acc& acc) {
  using Sums = exact::WindowedSums<F>;
  const Sums sums(acc, static_cast<int>(tile.size()));
  std::vector<typename Sums::Value> values(static_cast<std::size_t>(draw.Between(1, 9)),
                                           sums.Identity());
  for (const auto x : tile) {
    Sums::Add(
        values[static_cast<std::size_t>(draw.Between(0, static_cast<long>(values.size()) - 1))], x);
  }
  const auto middle = static_cast<std::size_t>(draw.Between(1, static_cast<long>(values.size())));
  for (std::size_t i = 1; i < middle; ++i) values[0] = sums.Combine(values[0], values[i]);
  typename Sums::Value settled = sums.Settled(values[0]);
  for (std::size_t i = middle; i < values.size(); ++i) {
    settled = Sums::Join::Combine(settled, sums.Settled(values[i]));
  }
  if (!sums.is_sum_told()) {
    settled.sum = F::template Get<exact::BoundedSum<typename F::Element>>(acc);
  }
  sums.Put(settled, acc);
}

// The row's state: tiles of any length, joined in a tree of any shape.
template <class F>
typename F::State AddUp(const std::vector<typename F::Element>& row, Draw& draw) {
  std::vector<typename F::State> states;
  std::size_t next = 0;
  while (next < row.size()) {
    typename F::Acc acc = F::Identity();
    std::vector<typename F::Element> tile;
    for (long left = draw.Between(1, draw.AnyOf<long>({40, 500})); left > 0 && next < row.size();
         --left) {
      tile.push_back(row[next++]);
      F::Add(acc, tile.back(), 0);
    }
    if constexpr (exact::kHasWindowedSums<F>) {
      if (draw.OneIn(2)) AddWindowedSums<F>(tile, draw, acc);
    }
    states.push_back(F::Promote(acc, ElementIndexing{}));
  }
  while (states.size() > 1) {
    std::vector<typename F::State> joined;
    for (std::size_t i = 0; i < states.size(); i += 2) {
      joined.push_back(i + 1 < states.size() ? F::Combine(states[i], states[i + 1]) : states[i]);
    }
    states = joined;
  }
  return states[0];
}

template <typename T>
class BoundedSumsTest : public ::testing::Test {
 protected:
  struct Count {
    int results = 0;
    int undecided = 0;
  };

  // `rounds` rows of the kind; of each op how many results there were, and how many undecided.
  std::map<Op, Count> Judge(HardFloat kind, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      Draw draw(random_);
      const auto most = draw.AnyOf<long>({16, 200, 200, 3000});
      const std::vector<T> row =
          testing::HardRow<T>(kind, static_cast<std::size_t>(draw.Between(1, most)), random_);
      ReduceSpec spec{.dtype = kDTypeOf<T>};
      spec.shape = {static_cast<std::int64_t>(row.size())};
      spec.ops = {std::begin(kRoundedOps), std::end(kRoundedOps)};
      spec.correction = draw.AnyOf<double>({0, 0, 1, 1, 2, 7, -3, 0.5, 1.5, -0.1, 2.999, 0x1p40});
      if (draw.OneIn(3)) {
        spec.nan_policy = NanPolicy::kOmit;
        Judge<exact::BoundedFull<T, NanPolicy::kOmit>>(spec, row, draw);
      } else {
        Judge<exact::BoundedSumAlone<T>>(spec, row, draw);
        Judge<exact::BoundedStatistics<T, NanPolicy::kPropagate>>(spec, row, draw);
      }
    }
    return std::exchange(counts_, {});
  }

 private:
  template <class F>
  void Judge(const ReduceSpec& spec, const std::vector<T>& row, Draw& draw) {
    const std::vector<testing::Answer> answers = testing::ReductionAnswers(spec, row.data());
    const typename F::State state = AddUp<F>(row, draw);
    const exact::Divisors divisors(spec.shape[0], spec.correction);
    const exact::BoundedOutput<F> output(&state, &divisors);
    for (std::size_t i = 0; i < spec.ops.size(); ++i) {
      const Op op = spec.ops[i];
      const bool is_told =
          F::template kHas<exact::SquareSumPair<T>> || op == Op::kSum || op == Op::kMean;
      if (!is_told) continue;
      Count& count = counts_[op];
      ++count.results;
      T result{};
      if (!output.Finish(StatisticOf<T>(op), &result)) {
        ++count.undecided;
        continue;
      }
      ASSERT_EQ(std::memcmp(&result, answers[i].bytes.data(), sizeof(T)), 0)
          << Name(op) << " of " << row.size() << " " << Name(spec.dtype) << ", correction "
          << spec.correction << ": " << WidenToDouble(result);
    }
  }

  std::mt19937_64 random_{20261126};
  std::map<Op, Count> counts_;
};

struct NameOfElement {
  template <typename T>
  static std::string GetName(int) {
    return Name(kDTypeOf<T>);
  }
};
using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(BoundedSumsTest, Floats, NameOfElement);

TYPED_TEST(BoundedSumsTest, GivesNoResultButTheRealOneRounded) {
  for (const HardFloat kind : testing::kHardFloats) {
    SCOPED_TRACE(absl::StrCat("kind ", static_cast<int>(kind)));
    this->Judge(kind, 100);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(BoundedSumsTest, FewOfNormalNumbersAreUndecided) {
  for (const auto& [op, count] : this->Judge(HardFloat::kNormal, 300)) {
    EXPECT_LE(count.undecided, count.results / 50) << Name(op);
  }
}

TYPED_TEST(BoundedSumsTest, ConstantsAndZerosHaveADecidedSum) {
  for (const HardFloat kind : {HardFloat::kSignedZeros, HardFloat::kNegativeZeros}) {
    for (const auto& [op, count] : this->Judge(kind, 100))
      EXPECT_EQ(count.undecided, 0) << Name(op);
  }
  // Not of float64 numbers of 2^1011 and more, for whose windows there is no start.
  const auto constants = this->Judge(HardFloat::kConstant, 100)[Op::kSum];
  constexpr bool kIsDouble = std::is_same_v<TypeParam, double>;
  EXPECT_LE(constants.undecided, kIsDouble ? constants.results / 20 : 0);
}

// Whole numbers add up without an error, so that a sum halfway between two numbers is not
// undecided.
TYPED_TEST(BoundedSumsTest, TiesOfWholeNumbersAreDecided) {
  using T = TypeParam;
  using F = exact::BoundedSumAlone<T>;
  // 2^p + 1, where numbers have p bits.
  const double half = std::ldexp(1, exact::FloatFormat<T>::kPrecision - 1);
  const std::vector<T> row = {RoundFromDouble<T>(half + 1), RoundFromDouble<T>(half)};
  std::mt19937_64 random(1);
  Draw draw(random);
  const typename F::State state = AddUp<F>(row, draw);
  const exact::Divisors divisors(2, 0);
  // In few instructions: such are common, of random numbers too where a row is short.
  const exact::internal::QuickSums<F> quick(state, divisors);
  T sum{};
  ASSERT_TRUE(quick.Finish(Statistic::kSum, &sum));
  EXPECT_EQ(WidenToDouble(sum), 2 * half);
  T mean{};
  ASSERT_TRUE(quick.Finish(Statistic::kMean, &mean));
  EXPECT_EQ(WidenToDouble(mean), half);
}

// Of numbers and their opposites, in any order, nothing is left: no bound that is a share of their
// sizes could tell that.
TYPED_TEST(BoundedSumsTest, SumsThatCancelAreDecided) {
  using T = TypeParam;
  std::mt19937_64 random(20261130);
  Draw draw(random);
  for (int round = 0; round < 50; ++round) {
    std::vector<T> row = testing::HardRow<T>(HardFloat::kNormal, 2000, random);
    for (std::size_t i = 0; i < 2000; ++i)
      row.push_back(RoundFromDouble<T>(-WidenToDouble(row[i])));
    std::shuffle(row.begin(), row.end(), random);
    const auto state = AddUp<exact::BoundedSumAlone<T>>(row, draw);
    const exact::Divisors divisors(4000, 0);
    T sum{};
    ASSERT_TRUE(exact::BoundedOutput<exact::BoundedSumAlone<T>>(&state, &divisors)
                    .Finish(Statistic::kSum, &sum));
    EXPECT_EQ(WidenToDouble(sum), 0);
  }
}

mpq_class ToRational(const exact::internal::Near& near) {
  return mpq_class(near.high) + mpq_class(near.low);
}

TYPED_TEST(BoundedSumsTest, SumsAreOffByNoMoreThanTheySay) {
  using T = TypeParam;
  using F = exact::BoundedStatistics<T, NanPolicy::kPropagate>;
  std::mt19937_64 random(20261126);
  Draw draw(random);
  int inexact = 0;
  for (const HardFloat kind : {HardFloat::kNormal, HardFloat::kEightyBinades,
                               HardFloat::kSubnormals, HardFloat::kOneHugeATile}) {
    for (int round = 0; round < 50; ++round) {
      const auto count = static_cast<std::size_t>(draw.Between(1, 3000));
      const std::vector<T> row = testing::HardRow<T>(kind, count, random);
      mpq_class sum = 0;
      mpq_class absolute_sum = 0;
      mpq_class squares = 0;
      for (const T x : row) {
        const mpq_class element(WidenToDouble(x));
        sum += element;
        absolute_sum += abs(element);
        squares += element * element;
      }
      const exact::internal::BoundedSums<F> sums(AddUp<F>(row, draw),
                                                 static_cast<std::int64_t>(count));
      const auto expect = [&](const exact::internal::Near& near, const mpq_class& real) {
        // An infinite one says nothing, and its result is undecided.
        if (!std::isfinite(near.high + near.low) || !std::isfinite(near.error)) return;
        const mpq_class off = abs(ToRational(near) - real);
        EXPECT_LE(off, mpq_class(near.error)) << "kind " << static_cast<int>(kind);
        inexact += off != 0 ? 1 : 0;
      };
      expect(sums.sum, sum);
      expect(sums.absolute_sum, absolute_sum);
      expect(sums.squares, squares);
    }
  }
  // Of halves all are exact.
  constexpr bool kIsHalf = std::is_same_v<T, Half>;
  EXPECT_GE(inexact, kIsHalf ? 0 : 50);
}

// What a pair of float64 numbers is rounded by decides here.
TEST(BoundedSumsOfDoublesTest, SumsBesideATieAreUndecided) {
  using F = exact::BoundedSumAlone<double>;
  std::mt19937_64 random(1);
  Draw draw(random);
  const std::vector<double> row = {1, 0x1p-53, 0x1p-150};
  const F::State state = AddUp<F>(row, draw);
  const exact::Divisors divisors(3, 0);
  double sum = 0;
  EXPECT_FALSE(exact::BoundedOutput<F>(&state, &divisors).Finish(Statistic::kSum, &sum));
}

}  // namespace
}  // namespace warpfold
