// What is flagged in a tensor, and how it is coloured.
#include "client/cpp/cli/finding.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "client/cpp/cli/color.h"
#include "client/cpp/cli/describe_report.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/table.h"

namespace warpfold::client {
namespace {

template <typename T>
Tensor Scalar(DType dtype, T value) {
  return {dtype, {}, {reinterpret_cast<const char*>(&value), sizeof(T)}};
}

TensorSummary OfFloats(std::int64_t count, float min, float max, std::int64_t nans,
                       std::int64_t infs) {
  TensorSummary summary;
  summary.count = count;
  summary.min = Scalar(v1::DTYPE_F32, min);
  summary.max = Scalar(v1::DTYPE_F32, max);
  summary.nan_count = Scalar(v1::DTYPE_I64, nans);
  summary.inf_count = Scalar(v1::DTYPE_I64, infs);
  return summary;
}

std::string Flags(const TensorSummary& tensor) { return NameList(FindingsOf(tensor)); }

TEST(FindingTest, EachHasItsReason) {
  EXPECT_EQ(Flags(OfFloats(3, -1, 1, 0, 0)), "");
  EXPECT_EQ(Flags(OfFloats(3, NAN, NAN, 1, 0)), "nan");
  EXPECT_EQ(Flags(OfFloats(3, NAN, NAN, 1, 2)), "nan,inf");
  EXPECT_EQ(Flags(OfFloats(3, -INFINITY, 1, 0, 1)), "inf");
  EXPECT_EQ(Flags(OfFloats(3, 0, 0, 0, 0)), "zero,constant");
  EXPECT_EQ(Flags(OfFloats(3, -0.0f, 0.0f, 0, 0)), "zero,constant");
  EXPECT_EQ(Flags(OfFloats(3, 2, 2, 0, 0)), "constant");
  EXPECT_EQ(Flags(OfFloats(3, INFINITY, INFINITY, 0, 3)), "inf,constant");
}

TEST(FindingTest, OneElementIsNoConstantAndNoneIsNothing) {
  EXPECT_EQ(Flags(OfFloats(1, 2, 2, 0, 0)), "");
  EXPECT_EQ(Flags(OfFloats(1, 0, 0, 0, 0)), "zero");
  EXPECT_EQ(Flags(TensorSummary()), "");
  EXPECT_EQ(Has(TensorSummary(), Finding::kNan), false);
}

TEST(FindingTest, LargeIntegersAreComparedExactly) {
  TensorSummary summary;
  summary.count = 2;
  const std::int64_t max = std::numeric_limits<std::int64_t>::max();
  summary.min = Scalar(v1::DTYPE_I64, max - 1);  // the same double as max
  summary.max = Scalar(v1::DTYPE_I64, max);
  EXPECT_EQ(Flags(summary), "");
}

TEST(FindingTest, WithoutCountsMinAndMaxTellWhatTheyCan) {
  TensorSummary summary = OfFloats(3, NAN, NAN, 0, 0);
  summary.nan_count.reset();
  summary.inf_count.reset();
  EXPECT_EQ(Has(summary, Finding::kNan), true);
  EXPECT_EQ(Has(summary, Finding::kInf), std::nullopt);
  summary.min = summary.max = Scalar(v1::DTYPE_F32, INFINITY);
  EXPECT_EQ(Has(summary, Finding::kNan), false);
  EXPECT_EQ(Has(summary, Finding::kInf), true);
  summary.min.reset();
  for (const Finding finding : kFindings) EXPECT_EQ(Has(summary, finding), std::nullopt);
}

TEST(FindingTest, NamesAreReadBack) {
  for (const Finding finding : kFindings) EXPECT_EQ(*ParseFinding(Name(finding)), finding);
  EXPECT_EQ(ParseFinding("NaN").status().message(), "'NaN' is none of nan, inf, zero, constant");
}

TEST(ColorTest, TheTerminalAndNoColorDecide) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  EXPECT_TRUE(UseColor("auto", terminal));
  EXPECT_FALSE(UseColor("never", terminal));
  EXPECT_FALSE(UseColor("auto", pipe_ends[1]));
  EXPECT_TRUE(UseColor("always", pipe_ends[1]));
  setenv("NO_COLOR", "", 1);  // empty counts as not set
  EXPECT_TRUE(UseColor("auto", terminal));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(UseColor("auto", terminal));
  EXPECT_TRUE(UseColor("always", terminal));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(UseColor("auto", terminal));
  for (const int fd : {terminal, pipe_ends[0], pipe_ends[1]}) close(fd);
}

TEST(ColorTest, ColourTakesNoWidth) {
  Table table({{"A"}, {"B"}});
  table.AddRow({Colored("x", Color::kRed, true), "y"});
  table.AddRow({"long", Colored("z", Color::kRed, false)});
  EXPECT_EQ(table.Text(), "A     B\n\x1b[31mx\x1b[0m     y\nlong  z\n");
}

TEST(ColorTest, DamageIsRedAndOddityYellow) {
  DescribeReport report;
  report.summaries.tensors = {OfFloats(2, NAN, NAN, 1, 0), OfFloats(2, 0, 0, 0, 0)};
  const std::string text = ReportText({report}, false, true);
  EXPECT_NE(text.find("  \x1b[31mnan\x1b[0m\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  \x1b[33mzero,constant\x1b[0m\n"), std::string::npos) << text;
  EXPECT_EQ(ReportText({report}, false, false).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace warpfold::client
