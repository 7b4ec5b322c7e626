// Which rows are an output's, against the coordinates of their elements.
#include "kernels/output_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "kernels/plan.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold {
namespace {

TEST(OutputRowsTest, AreThoseOfTheCoordinates) {
  const std::vector<std::vector<std::int64_t>> all_axes = {
      {5}, {4}, {1}, {0, 5}, {0, 2, 4}, {1, 3, 5}, {0, 1, 3, 5}, {0, 2, 3, 5}, {0, 1, 2, 3, 4, 5}};
  for (const std::vector<std::int64_t>& axes : all_axes) {
    const ReduceSpec spec{
        .dtype = DType::kF32, .shape = {2, 3, 4, 5, 3, 2}, .ops = {Op::kSum}, .axes = axes};
    const Plan plan = *MakePlan(spec);
    const Geometry& g = plan.geometry;
    const std::vector<std::size_t> outputs = testing::OutputOfEachElement(spec.shape, spec.axes);
    const OutputRows rows = g.output_rows();
    ASSERT_EQ(rows.rows_per_output() * plan.output_count, g.row_count());
    for (std::int64_t row = 0; row < g.row_count(); ++row) {
      const std::int64_t first = row / g.inner * g.reduce * g.inner + row % g.inner;
      ASSERT_EQ(rows.OutputOf(row),
                static_cast<std::int64_t>(outputs[static_cast<std::size_t>(first)]))
          << "row " << row << " with " << axes.size() << " axes";
    }
    std::set<std::int64_t> met;
    for (std::int64_t output = 0; output < plan.output_count; ++output) {
      for (std::int64_t part = 0; part < rows.rows_per_output(); ++part) {
        const std::int64_t row = rows.RowOf(output, part);
        ASSERT_EQ(rows.OutputOf(row), output);
        met.insert(row);
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(met.size()), g.row_count());
  }
}

}  // namespace
}  // namespace warpfold
