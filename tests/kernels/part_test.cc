#include "kernels/part.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/kernels/spec.h"

namespace warpfold {
namespace {

using Indices = std::vector<std::int64_t>;

std::string PartError(const ReduceSpec& spec, Indices shape, Indices offset) {
  const Box box{std::move(offset), std::move(shape)};
  const absl::Status status = MakePart(spec, *MakePlan(spec), box).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(FieldErrorOf(status).has_value(), !status.ok()) << status;
  return std::string(status.message());
}

TEST(MakePart, CutsAnywhereAlongWhatIsReduced) {
  for (const std::int64_t offset : {0, 3, 33}) {
    EXPECT_EQ(PartError(Spec({100}), {67}, {offset}), "");
  }
  const ReduceSpec spec = Spec({4, 5, 6, 7}, {0, 1, 3});
  EXPECT_EQ(PartError(spec, {2, 1, 6, 3}, {2, 4, 0, 1}), "");
  EXPECT_EQ(PartError(spec, {4, 0, 6, 7}, {0, 5, 0, 0}), "");
  EXPECT_EQ(PartError(Spec({}), {}, {}), "");
}

TEST(MakePart, RefusesWhatIsNoPart) {
  const ReduceSpec spec = Spec({4, 5000, 2}, {1});
  EXPECT_EQ(PartError(spec, {4, 16, 2}, {0, 8, 0}), "");
  EXPECT_EQ(PartError(spec, {4, 16}, {0, 8, 0}),
            "tensor.shape: has 2 dimensions, but the whole has 3");
  EXPECT_EQ(PartError(spec, {4, 16, 2}, {8}),
            "part.offset: has 1 indices, but the whole has 3 dimensions");
  EXPECT_EQ(PartError(spec, {3, 16, 2}, {0, 8, 0}),
            "tensor.shape: dimension 0 has 3 indices from 0 on; it is kept, and a part has all 4");
  EXPECT_EQ(PartError(spec, {4, 16, 2}, {0, 8, 1}),
            "part.offset: dimension 2 has 2 indices from 1 on; it is kept, and a part has all 2");
  EXPECT_EQ(PartError(spec, {4, -1, 2}, {0, 8, 0}), "tensor.shape: dimension 1 is negative: -1");
  EXPECT_EQ(PartError(spec, {4, 16, 2}, {0, -8, 0}), "part.offset: dimension 1 is negative: -8");
  EXPECT_EQ(PartError(spec, {4, 16, 2}, {0, 4992, 0}),
            "part.offset: dimension 1: 16 indices from 4992 on are not in the whole's 5000");
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(PartError(spec, {4, 16, 2}, {0, huge, 0}).rfind("part.offset: ", 0), 0U);
  EXPECT_EQ(PartError(spec, {4, huge, 2}, {0, huge, 0}).rfind("tensor.shape: ", 0), 0U);
}

TEST(CutPlan, IsOneReductionOfTheBox) {
  const Plan whole = *MakePlan(Spec({6, 10, 3, 5}, {1, 3}));
  const Plan part = CutPlan(whole, {{0, 4, 0, 2}, {6, 4, 3, 2}});
  EXPECT_EQ(part.element_count, 6 * 4 * 3 * 2);
  EXPECT_EQ(part.output_count, whole.output_count);
  EXPECT_EQ(part.reduced_count, 4 * 2);
  EXPECT_EQ(part.geometry.element_count(), part.element_count);
  ASSERT_EQ(part.geometry.folds.size(), 1U);
  EXPECT_EQ(part.geometry.folds[0].count, 4);
  EXPECT_EQ(part.first_element, (4 * 3 + 0) * 5 + 2);
  // A fold of one has nothing to do.
  EXPECT_TRUE(CutPlan(whole, {{0, 4, 0, 2}, {6, 1, 3, 2}}).geometry.folds.empty());
}

// Each element of each part, by its offset there, against its place in the whole.
TEST(CutPlan, KnowsThePlacesOfItsElements) {
  const Plan whole = *MakePlan(Spec({4, 3, 2, 5}, {0, 1, 3}));
  const Box box{{1, 1, 0, 2}, {2, 2, 2, 3}};
  const Plan part = CutPlan(whole, box);
  const ReducedElements elements = ReducedElementsOf(whole, box);
  EXPECT_EQ(elements.count, 2 * 2 * 3);
  std::vector<bool> is_in_part(static_cast<std::size_t>(whole.reduced_count));
  std::int64_t offset = 0;
  for (std::int64_t a = 1; a < 3; ++a) {
    for (std::int64_t b = 1; b < 3; ++b) {
      for (std::int64_t kept = 0; kept < 2; ++kept) {
        for (std::int64_t c = 2; c < 5; ++c) {
          const std::int64_t index = (a * 3 + b) * 5 + c;
          EXPECT_EQ(part.index_map.IndexOf(offset++), index);
          is_in_part[static_cast<std::size_t>(index)] = true;
        }
      }
    }
  }
  for (std::int64_t index = 0; index < whole.reduced_count; ++index) {
    EXPECT_EQ(elements.Has(index), is_in_part[static_cast<std::size_t>(index)]) << index;
  }
  for (const std::int64_t index :
       {std::int64_t{-1}, whole.reduced_count, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_FALSE(elements.Has(index)) << index;
  }
}

}  // namespace
}  // namespace warpfold
