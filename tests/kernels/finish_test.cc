// Results of neighbouring outputs are those of each by itself, wherever they lie, and of several
// that do not fit the first is told.
#include "kernels/finish.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/fold.h"
#include "kernels/types.h"
#include "tests/kernels/op_lists.h"

namespace warpfold {
namespace {

constexpr int kNeighbours = 8;
constexpr std::int64_t kOutputs = 2 * kNeighbours;

// Of some ops, each with an array of 8-byte results, which lie at the start of a cache line.
struct Arrays {
  explicit Arrays(const std::vector<Op>& ops) {
    std::memset(bytes, 0xcd, sizeof(bytes));
    for (const Op op : ops) {
      targets.ops[targets.count] = op;
      targets.arrays[targets.count] = bytes[targets.count];
      ++targets.count;
    }
    targets.reduced_count = 3;
    targets.reduced_run_count = 1;
    targets.reduced_runs[0] = {kOutputs, 3};
  }

  ResultTargets targets;
  alignas(64) char bytes[kRequestOpsMax][kOutputs * 8];
};

// All whose results are not rounded.
template <typename T>
struct EverythingOf {
  using Type = PlainFold<T, Sum<T>, Product<T>, Min<T>, Max<T>, NanCount<T>, InfCount<T>,
                         NonzeroCount<T>, ArgMin<T>, ArgMax<T>>;
};
template <typename T>
requires(kIsFloat<T>) struct EverythingOf<T> {
  using Type =
      PlainFold<T, Min<T>, Max<T>, NanCount<T>, InfCount<T>, NonzeroCount<T>, ArgMin<T>, ArgMax<T>>;
};
template <typename T>
using Everything = typename EverythingOf<T>::Type;

// States of three elements each, other ones for each output; where they are floats one has a NaN.
template <class F>
std::array<typename F::State, kNeighbours> StatesOfThree() {
  using T = typename F::Element;
  std::array<typename F::State, kNeighbours> states;
  for (int k = 0; k < kNeighbours; ++k) {
    typename F::Acc acc = F::Identity();
    for (int i = 0; i < 3; ++i) {
      const int number = k * 3 + i * 2;
      if constexpr (kIsFloat<T>) {
        F::Add(acc, k == 5 ? QuietNan<T>() : RoundFromDouble<T>(-number), i);
      } else {
        F::Add(acc, static_cast<T>(number), i);
      }
    }
    states[k] = F::Promote(acc, ElementIndexing{.first = k, .step = kOutputs});
  }
  return states;
}

template <typename T>
class FinishTest : public ::testing::Test {};
using Elements = ::testing::Types<std::int8_t, std::int64_t, Half, float, double>;
TYPED_TEST_SUITE(FinishTest, Elements);

TYPED_TEST(FinishTest, NeighboursAreAsOneByOneWhereverTheyLie) {
  using F = Everything<TypeParam>;
  const auto states = StatesOfThree<F>();
  for (const std::vector<Op>& ops : {testing::FirstOps(), testing::LastOps()}) {
    for (int first = 0; first <= kNeighbours; ++first) {
      Arrays expected(ops);
      Arrays together(ops);
      OpOverflow op_overflow;
      for (int k = 0; k < kNeighbours; ++k) {
        ASSERT_EQ((WriteResults<F, 1>(expected.targets, first + k, &states[k], &op_overflow)), 1);
      }
      ASSERT_EQ(
          (WriteResults<F, kNeighbours>(together.targets, first, states.data(), &op_overflow)),
          kNeighbours);
      for (int i = 0; i < expected.targets.count; ++i) {
        EXPECT_EQ(std::memcmp(together.bytes[i], expected.bytes[i], sizeof(expected.bytes[i])), 0)
            << Name(ops[static_cast<std::size_t>(i)]) << " at " << first;
      }
    }
  }
}

TEST(OverflowAnswerTest, TellsTheFirstOutputThatDoesNotFit) {
  using F = Everything<std::int64_t>;
  using SumOf = Sum<std::int64_t>;
  using ProductOf = Product<std::int64_t>;
  const int128 past = int128{std::numeric_limits<std::int64_t>::max()} + 1;
  Arrays arrays(testing::FirstOps());
  OpOverflow op_overflow;

  auto states = StatesOfThree<F>();
  F::Get<SumOf>(states[6]) = past;
  EXPECT_EQ((WriteResults<F, kNeighbours>(arrays.targets, 0, states.data(), &op_overflow)), 6);
  EXPECT_EQ(op_overflow.op, Op::kSum);
  EXPECT_TRUE(op_overflow.sum == past);

  // The lower output, though its op comes later, and of a product no number.
  F::Get<ProductOf>(states[2]).past = 1;
  EXPECT_EQ((WriteResults<F, kNeighbours>(arrays.targets, 0, states.data(), &op_overflow)), 2);
  EXPECT_EQ(op_overflow.op, Op::kProd);
  EXPECT_TRUE(op_overflow.sum == 0);

  F::Get<SumOf>(states[1]) = -past - 1;
  F::Get<SumOf>(states[0]) = -past;  // fits
  EXPECT_EQ((WriteResults<F, kNeighbours>(arrays.targets, 0, states.data(), &op_overflow)), 1);
  EXPECT_EQ(op_overflow.op, Op::kSum);
  EXPECT_TRUE(op_overflow.sum == -past - 1);
}

TEST(OverflowAnswerTest, AProductPast64BitsFitsNoType) {
  using F = Everything<std::uint64_t>;
  auto states = StatesOfThree<F>();
  Arrays arrays(testing::FirstOps());
  OpOverflow op_overflow;
  F::Get<Product<std::uint64_t>>(states[3]).magnitude = ~std::uint64_t{0};
  EXPECT_EQ((WriteResults<F, kNeighbours>(arrays.targets, 0, states.data(), &op_overflow)),
            kNeighbours);
  F::Get<Product<std::uint64_t>>(states[3]).past = 1;
  EXPECT_EQ((WriteResults<F, kNeighbours>(arrays.targets, 0, states.data(), &op_overflow)), 3);
}

}  // namespace
}  // namespace warpfold
