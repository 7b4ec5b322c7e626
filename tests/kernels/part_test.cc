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

TEST(MakePart, CutsAnywhere) {
  for (const std::int64_t offset : {0, 3, 33}) EXPECT_EQ(PartError(Spec({100}), {67}, offset), "");
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
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(PartError(Spec({64, 64}), {huge, huge}, 0).rfind("part.offset: ", 0), 0U);
}

TEST(SlicePlan, CutsTheOutermostRunAlone) {
  const Plan whole = WholeOf(Spec({6, 10, 3, 5}, {1, 3}));
  EXPECT_EQ(PlaneCount(whole), 6);
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
