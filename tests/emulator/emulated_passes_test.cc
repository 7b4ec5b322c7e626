// The passes over a tile's elements (tile_passes.cuh), for every kind of float and of hard data:
// extrema and counts as one element after another has them, and sums of which each result that is
// given is the real one rounded once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <iterator>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/cuda/tile_passes.cuh"
#include "kernels/exact/bounded_finish.h"
#include "kernels/exact/folds.h"
#include "kernels/plan.h"
#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/exact/hard_rows.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold::cuda {
namespace {

using testing::HardFloat;

constexpr Op kRoundedOps[] = {Op::kSum, Op::kMean, Op::kL1Norm, Op::kL2Norm, Op::kVar, Op::kStd};

const exact::Divisors kOneElement(1, 0);

// The one lane of a warp, so that the passes are those of rows.
struct OneLane : WithinThread {
  static constexpr bool kByWarp = true;
  template <class F>
  static constexpr bool kInWindows = AcrossLanes::kInWindows<F>;
};

// Elements as a lane holds them: two values side by side, which `combine` joins.
template <typename T>
auto PassOver(const std::vector<T>& elements) {
  return [&](auto, const auto& identity, const auto& add, const auto& combine) {
    auto even = identity;
    auto odd = identity;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      add(i % 2 == 0 ? even : odd, elements[i], static_cast<int>(i));
    }
    return combine(even, odd);
  };
}

template <typename T>
class EmulatedPassesTest : public ::testing::Test {
 protected:
  EmulatedPassesTest() { std::cout << "seed " << kSeed << '\n'; }

  template <class F, class Across>
  void Check(const std::vector<T>& elements, NanPolicy nan_policy) {
    const auto count = static_cast<int>(elements.size());
    const typename F::Acc acc = FoldTilePasses<F>(count, PassOver(elements), Across{});
    typename F::Acc one_by_one = F::Identity();
    for (int i = 0; i < count; ++i) F::Add(one_by_one, elements[static_cast<std::size_t>(i)], i);
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (std::is_same_v<C, Min<T>> || std::is_same_v<C, Max<T>> ||
                    std::is_same_v<C, NanCount<T>> || std::is_same_v<C, InfCount<T>>) {
        ASSERT_EQ(F::template Get<C>(acc), F::template Get<C>(one_by_one));
      }
      if constexpr (std::is_same_v<C, exact::SmallestSize<T>>) {
        // Sums are taken for exact by it, so that it may be too small alone.
        const std::int32_t least = F::template Get<C>(one_by_one);
        ASSERT_LE(F::template Get<C>(acc), least);
        ASSERT_GE(F::template Get<C>(acc), least - 2);
      }
    });
    if (::testing::Test::HasFatalFailure()) return;

    ReduceSpec spec{.dtype = kDTypeOf<T>, .nan_policy = nan_policy};
    spec.shape = {count};
    spec.ops = {std::begin(kRoundedOps), std::end(kRoundedOps)};
    const auto answers = testing::ReductionAnswers(spec, elements.data());
    const typename F::State state = F::Promote(acc, ElementIndexing{}, count);
    const exact::Divisors divisors(count, spec.correction);
    const exact::BoundedOutput<F> output(&state, &divisors);
    for (std::size_t i = 0; i < spec.ops.size(); ++i) {
      const bool has_op = F::template kHas<exact::SquareSumPair<T>> || i < 2;
      T result{};
      if (!has_op || !output.Finish(StatisticOf<T>(spec.ops[i]), &result)) continue;
      ++given_;
      ASSERT_EQ(std::memcmp(&result, answers[i].bytes.data(), sizeof(T)), 0)
          << Name(spec.ops[i]) << " of " << count << ": " << WidenToDouble(result);
    }
  }

  static constexpr std::uint64_t kSeed = 20261201;
  std::mt19937_64 random_{kSeed};
  int given_ = 0;
};

using Floats = ::testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(EmulatedPassesTest, Floats);

TYPED_TEST(EmulatedPassesTest, GiveWhatIsThereAndNoResultButTheRealOne) {
  using T = TypeParam;
  constexpr auto kPropagate = NanPolicy::kPropagate;
  constexpr auto kOmit = NanPolicy::kOmit;
  using Folds = exact::internal::Folds<T>;
  for (const HardFloat kind : testing::kHardFloats) {
    SCOPED_TRACE(static_cast<int>(kind));
    for (int round = 0; round < 30; ++round) {
      testing::Draw draw(this->random_);
      const long most = draw.AnyOf<long>({4, 32, kTileElements<T>});
      const std::vector<T> elements =
          testing::HardRow<T>(kind, static_cast<std::size_t>(draw.Between(1, most)), this->random_);
      this->template Check<typename Folds::Statistics, OneLane>(elements, kPropagate);
      this->template Check<typename Folds::Statistics, WithinThread>(elements, kPropagate);
      this->template Check<typename Folds::Range, OneLane>(elements, kPropagate);
      this->template Check<exact::BoundedSumAlone<T>, OneLane>(elements, kPropagate);
      this->template Check<typename Folds::template Full<kOmit>, OneLane>(elements, kOmit);
      if (this->HasFatalFailure()) return;
    }
  }
  EXPECT_GT(this->given_, 1000);
}

TYPED_TEST(EmulatedPassesTest, ChangeNothingWhereThereIsNoElement) {
  using T = TypeParam;
  using F = typename exact::internal::Folds<T>::Statistics;
  const auto none = FoldTilePasses<F>(0, PassOver(std::vector<T>{}), OneLane{});
  const typename F::State state = F::Promote(none, ElementIndexing{}, 0);
  EXPECT_GT(F::template Get<Min<T>>(state), F::template Get<Max<T>>(state));
  for (const double x : {-0.0, 0.0, 1.0}) {
    const auto one = FoldTilePasses<F>(1, PassOver(std::vector{RoundFromDouble<T>(x)}), OneLane{});
    const typename F::State both =
        F::Combine(F::Promote(one, ElementIndexing{}, 1), F::Combine(state, state));
    const exact::BoundedOutput<F> output(&both, &kOneElement);
    T sum{};
    ASSERT_TRUE(output.Finish(Statistic::kSum, &sum));
    EXPECT_EQ(WidenToDouble(sum), x);
    EXPECT_EQ(std::signbit(WidenToDouble(sum)), std::signbit(x));
    EXPECT_EQ(F::template Get<Min<T>>(both), ToKey(RoundFromDouble<T>(x)));
    EXPECT_EQ(F::template Get<Max<T>>(both), ToKey(RoundFromDouble<T>(x)));
  }
}

}  // namespace
}  // namespace warpfold::cuda
