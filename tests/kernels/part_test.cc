#include "kernels/part.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/spec.h"

namespace warpfold {
namespace {

Plan WholeOf(const ReduceSpec& spec) { return *MakePlan(spec); }

std::string PartError(const ReduceSpec& spec, const std::vector<std::int64_t>& shape,
                      std::int64_t offset) {
  const absl::Status status = MakePart(spec, WholeOf(spec), shape, offset).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(FieldErrorOf(status).has_value(), !status.ok()) << status;
  return std::string(status.message());
}

TEST(OuterRun, IsTheOutermostReducedDimensionAndThoseBehindIt) {
  const auto run = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> axes) {
    const OuterRun found = WholeOf(Spec(std::move(shape), std::move(axes))).outer_run;
    return std::vector<std::int64_t>{found.first_dimension, found.end_dimension, found.length};
  };
  using Run = std::vector<std::int64_t>;
  EXPECT_EQ(run({4, 5, 6}, {}), (Run{0, 3, 120}));
  EXPECT_EQ(run({4, 5, 6}, {1}), (Run{1, 2, 5}));
  EXPECT_EQ(run({4, 5, 6}, {0, 2}), (Run{0, 1, 4}));
  EXPECT_EQ(run({1, 5, 6}, {0, 2}), (Run{2, 3, 6}));   // a length of 1 does not count
  EXPECT_EQ(run({4, 1, 6}, {0, 2}), (Run{0, 3, 24}));  // nor does it part a run
  EXPECT_EQ(run({4, 5, 0}, {0, 2}), (Run{0, 1, 4}));
  EXPECT_EQ(run({4, 1, 6}, {1}), (Run{0, 0, 1}));
  EXPECT_EQ(run({}, {}), (Run{0, 0, 1}));
}

// Goes with sums that have an order.
#ifndef WARPFOLD_EXACT
// The picture of docs/order.md, in leaves of the three kinds.
TEST(NodesOf, AreTheLargestThatLieInThePart) {
  struct LeafCase {
    ReduceSpec spec;
    std::int64_t leaf;
  };
  for (const LeafCase& c : std::vector<LeafCase>{{Spec({9 * 1024 + 5}), 1024},
                                                 {Spec({9 * 8 + 5, 3}, {0}), 8},
                                                 {Spec({10, 3, 4}, {0, 2}), 1}}) {
    const std::int64_t leaf = c.leaf;
    const Plan whole = WholeOf(c.spec);
    const std::int64_t end = whole.outer_run.length;
    const auto nodes = [&](std::int64_t first, std::int64_t past) {
      std::vector<Range> in_leaves;
      const Range range{first * leaf, std::min(past * leaf, end)};
      for (const Range& node : NodesOf(whole, range)) {
        in_leaves.push_back({node.begin / leaf, (node.end + leaf - 1) / leaf});
        EXPECT_LE(node.end, end);
      }
      return in_leaves;
    };
    using Nodes = std::vector<Range>;
    EXPECT_EQ(nodes(0, 3), (Nodes{{0, 2}, {2, 3}}));
    EXPECT_EQ(nodes(3, 7), (Nodes{{3, 4}, {4, 6}, {6, 7}}));
    EXPECT_EQ(nodes(7, 10), (Nodes{{7, 8}, {8, 10}}));
    EXPECT_EQ(nodes(0, 10), (Nodes{{0, 8}, {8, 10}}));
    EXPECT_EQ(nodes(4, 4), Nodes());
    EXPECT_TRUE(AreHalves(whole, {2 * leaf, 3 * leaf}, {3 * leaf, 4 * leaf}));
    EXPECT_FALSE(AreHalves(whole, {1 * leaf, 2 * leaf}, {2 * leaf, 3 * leaf}));
    EXPECT_FALSE(AreHalves(whole, {0, 2 * leaf}, {2 * leaf, 3 * leaf}));
    EXPECT_TRUE(AreHalves(whole, {8 * leaf, 9 * leaf}, {9 * leaf, end}));  // a started leaf is one
  }
}

// A node that the whole's end cuts short is one, whatever is left of it.
TEST(SubtreesOf, ReachPastTheEnd) {
  for (const auto& [spec, leaf] :
       std::vector<std::pair<ReduceSpec, std::int64_t>>{{Spec({10 * 1024 + 5}), 1024},
                                                        {Spec({10 * 8 + 5, 3}, {0}), 8},
                                                        {Spec({11, 3, 4}, {0, 2}), 1}}) {
    const Plan whole = WholeOf(spec);
    const std::int64_t end = whole.outer_run.length;
    const auto at = [leaf = leaf, end](std::int64_t first, std::int64_t past) {
      return Range{first * leaf, std::min(past * leaf, end)};
    };
    using Nodes = std::vector<Range>;
    EXPECT_EQ(SubtreesOf(whole, at(0, 11)), (Nodes{at(0, 11)}));
    EXPECT_EQ(SubtreesOf(whole, at(8, 11)), (Nodes{at(8, 11)}));
    EXPECT_EQ(SubtreesOf(whole, at(6, 11)), (Nodes{at(6, 8), at(8, 11)}));
    EXPECT_EQ(SubtreesOf(whole, at(3, 11)), (Nodes{at(3, 4), at(4, 8), at(8, 11)}));
    EXPECT_EQ(SubtreesOf(whole, at(10, 11)), (Nodes{at(10, 11)}));
    EXPECT_EQ(SubtreesOf(whole, at(3, 7)), NodesOf(whole, at(3, 7)));
    EXPECT_EQ(SubtreesOf(whole, at(4, 4)), Nodes());
  }
}

#endif

TEST(NodesOf, IsThePartWhereNothingDependsOnTheOrder) {
  for (ReduceSpec spec : {Spec({100}, {}, {Op::kMin, Op::kArgMax, Op::kAny}), Spec({100})}) {
    if (spec.ops.front() == Op::kSum) spec.dtype = DType::kI32;
    EXPECT_EQ(NodesOf(WholeOf(spec), {3, 70}), (std::vector<Range>{{3, 70}}));
    EXPECT_EQ(PartError(spec, {67}, 3), "");
  }
}

TEST(MakePart, RefusesWhatIsNoPart) {
  const ReduceSpec spec = Spec({4, 5000, 2}, {1});
  EXPECT_EQ(PartError(spec, {4, 16, 2}, 8), "");
  EXPECT_EQ(PartError(spec, {4, 0, 2}, 8), "");
  EXPECT_EQ(PartError(spec, {4, 16}, 8), "tensor.shape: has 2 dimensions, but the whole has 3");
  EXPECT_EQ(PartError(spec, {3, 16, 2}, 8),
            "tensor.shape: dimension 0 is 3, but the whole's is 4, and it is not in the outermost "
            "reduced run");
  EXPECT_EQ(PartError(spec, {4, -1, 2}, 8), "tensor.shape: dimension 1 is negative: -1");
  EXPECT_EQ(PartError(spec, {4, 16, 2}, -8), "part.offset: is negative: -8");
  EXPECT_EQ(PartError(spec, {4, 16, 2}, 4992),
            "part.offset: 16 indices from 4992 on are not in the outermost reduced run of 5000");
#ifndef WARPFOLD_EXACT
  EXPECT_EQ(PartError(spec, {4, 16, 2}, 12),
            "part.offset: no cut may fall at index 12 of the outermost reduced run: only at "
            "multiples of 8 and at its end, 5000");
  EXPECT_EQ(PartError(spec, {4, 12, 2}, 16),
            "tensor.shape: no cut may fall at index 28 of the outermost reduced run: only at "
            "multiples of 8 and at its end, 5000");
#endif
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(PartError(Spec({64, 64}), {huge, huge}, 0).rfind("part.offset: ", 0), 0U);
}

TEST(SlicePlan, CutsTheOutermostRunAlone) {
  const Plan whole = WholeOf(Spec({6, 10, 3, 5}, {1, 3}));
  EXPECT_EQ(PlaneCount(whole), 6);
  EXPECT_EQ(RowElements(whole), 15);
  const Plan slice = SlicePlan(whole, 2, {4, 8});
  EXPECT_TRUE(slice.leaves_states);
  EXPECT_EQ(slice.element_count, 2 * 4 * 15);
  EXPECT_EQ(slice.output_count, 2 * 3);
  EXPECT_EQ(slice.geometry.element_count(), slice.element_count);
  ASSERT_EQ(slice.geometry.folds.size(), 1U);
  EXPECT_EQ(slice.geometry.folds[0].count, 4);
  // A fold of one has nothing to do.
  EXPECT_TRUE(SlicePlan(whole, 2, {4, 5}).geometry.folds.empty());
}

}  // namespace
}  // namespace warpfold
