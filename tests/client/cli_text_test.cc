// How the command line client writes numbers, arrays, tables and progress.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "client/cpp/cli/array_text.h"
#include "client/cpp/cli/describe_report.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/progress_bar.h"
#include "client/cpp/cli/table.h"
#include "client/cpp/cli/wrap.h"

namespace warpfold::client {
namespace {

template <typename T>
const char* Raw(const T& value) {
  return reinterpret_cast<const char*>(&value);
}

template <typename T>
Tensor Make(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  return {dtype, std::move(shape), std::string(Raw(values[0]), values.size() * sizeof(T))};
}

template <typename T>
T BitsToFloat(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
std::string Text(DType dtype, T value) {
  return ElementText(dtype, Raw(value));
}

TEST(ElementTest, TextIsPythonsRepr) {
  EXPECT_EQ(Text(v1::DTYPE_F32, 0.1f), "0.1");
  EXPECT_EQ(Text(v1::DTYPE_F64, 6.0), "6.0");
  EXPECT_EQ(Text(v1::DTYPE_F64, -0.0), "-0.0");
  EXPECT_EQ(Text(v1::DTYPE_F64, 1e16), "1e+16");
  EXPECT_EQ(Text(v1::DTYPE_F64, 9.5e-5), "9.5e-05");
  EXPECT_EQ(Text(v1::DTYPE_F64, 1e-4), "0.0001");
  EXPECT_EQ(Text(v1::DTYPE_F32, std::nanf("")), "nan");
  EXPECT_EQ(Text(v1::DTYPE_F32, -INFINITY), "-inf");
  EXPECT_EQ(Text(v1::DTYPE_I64, INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(Text(v1::DTYPE_U64, UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(Text(v1::DTYPE_BOOL, true), "True");
}

TEST(ElementTest, SixteenBitFloatsAreWidened) {
  EXPECT_EQ(Text(v1::DTYPE_F16, std::uint16_t{0x3e00}), "1.5");
  EXPECT_EQ(Text(v1::DTYPE_F16, std::uint16_t{0x0001}), Text(v1::DTYPE_F32, 0x1p-24f));
  EXPECT_EQ(Text(v1::DTYPE_F16, std::uint16_t{0x7bff}), "65504.0");
  EXPECT_EQ(Text(v1::DTYPE_F16, std::uint16_t{0xfc00}), "-inf");
  EXPECT_EQ(Text(v1::DTYPE_BF16, std::uint16_t{0xc040}), "-3.0");
}

TEST(ElementTest, JsonNumbersRoundTripBitForBit) {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 50'000; ++i) {
    const auto f64 = BitsToFloat<double>(random());
    const auto f32 = BitsToFloat<float>(random() & 0xffffffff);
    const auto i64 = static_cast<std::int64_t>(random());
    // Through text, as a program would read it.
    const auto back = [](DType dtype, const char* raw) {
      return nlohmann::json::parse(ElementJson(dtype, raw).dump());
    };
    if (std::isfinite(f64)) {
      const double read = back(v1::DTYPE_F64, Raw(f64)).get<double>();
      ASSERT_EQ(std::memcmp(&read, &f64, 8), 0) << f64;
    }
    if (std::isfinite(f32)) {
      const auto read = static_cast<float>(back(v1::DTYPE_F32, Raw(f32)).get<double>());
      ASSERT_EQ(std::memcmp(&read, &f32, 4), 0) << f32;
    }
    ASSERT_EQ(back(v1::DTYPE_I64, Raw(i64)).get<std::int64_t>(), i64);
  }
}

TEST(ElementTest, JsonHasNoNumberForNanAndInfinity) {
  const double values[] = {NAN, INFINITY, -INFINITY};
  EXPECT_EQ(ElementJson(v1::DTYPE_F64, Raw(values[0])).dump(), "\"NaN\"");
  EXPECT_EQ(ElementJson(v1::DTYPE_F64, Raw(values[1])).dump(), "\"Infinity\"");
  EXPECT_EQ(ElementJson(v1::DTYPE_F64, Raw(values[2])).dump(), "\"-Infinity\"");
  const float tenth = 0.1f;
  EXPECT_EQ(ElementJson(v1::DTYPE_F32, Raw(tenth)).dump(), "0.1");
}

TEST(ElementTest, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(Printable("a\x1b[31mb\n\x7f\u00e9"), "a\\x1b[31mb\\x0a\\x7f\u00e9");
}

// The expected texts are NumPy's own: str(np.array(...)).
TEST(ArrayTextTest, ArraysLookAsInNumpy) {
  EXPECT_EQ(ArrayText(Make<float>(v1::DTYPE_F32, {}, {2.5f})), "2.5");
  EXPECT_EQ(ArrayText(Make<float>(v1::DTYPE_F32, {3}, {1, 2, 3})), "[1. 2. 3.]");
  EXPECT_EQ(ArrayText(Make<double>(v1::DTYPE_F64, {2, 2}, {1, -20.5, 0.25, 3})),
            "[[  1.   -20.5 ]\n [  0.25   3.  ]]");
  EXPECT_EQ(ArrayText(Make<std::int32_t>(v1::DTYPE_I32, {2, 1, 2}, {1, 10, 100, 1000})),
            "[[[   1   10]]\n\n [[ 100 1000]]]");
  EXPECT_EQ(ArrayText({v1::DTYPE_F32, {0}, ""}), "[]");
}

TEST(ArrayTextTest, TheMiddleOfALongArrayIsLeftOut) {
  std::vector<std::int64_t> values(1001);
  for (int i = 0; i < 1001; ++i) values[i] = i;
  EXPECT_EQ(ArrayText(Make(v1::DTYPE_I64, {1001}, values)), "[   0    1    2 ...  998  999 1000]");
  values.resize(1000);
  EXPECT_EQ(ArrayText(Make(v1::DTYPE_I64, {1000}, values)).find("..."), std::string::npos);
}

TEST(TableTest, ColumnsAreAlignedByCharactersAndLinesHaveNoTail) {
  Table table({{"NAME"}, {"N", Align::kRight}, {"NOTE"}});
  table.AddRow({"é", "1", ""});
  table.AddRow({"layer.0", "1000", "x"});
  EXPECT_EQ(table.Text(),
            "NAME        N  NOTE\n"
            "é           1\n"
            "layer.0  1000  x\n");
}

TEST(ProgressTest, TheLineSaysHowMuchHowFastAndHowLong) {
  EXPECT_EQ(ProgressLine(50 << 20, 100 << 20, std::chrono::seconds(2)),
            "[============>           ]  50%  50.0 MiB of 100 MiB  0.03 GB/s  0:02 left");
  EXPECT_EQ(ProgressLine(0, 0, std::chrono::seconds(0)),
            "[========================] 100%  0 B of 0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.50 KiB");
  EXPECT_EQ(BytesText(std::int64_t{3} << 40), "3.00 TiB");
}

TEST(TableTest, ALastColumnWrapsToItsTerminal) {
  Table table({{"NAME"}, {"N", Align::kRight}, {"NOTE", Align::kLeft, /*wraps=*/true}});
  table.AddRow({"w", "3", ""});
  table.AddRow({"odd", "10", "the file holds objects, not numbers"});
  EXPECT_EQ(table.Text(45),
            "NAME   N  NOTE\n"
            "w      3\n"
            "odd   10  the file holds objects, not numbers\n");
  EXPECT_EQ(table.Text(), table.Text(45));
  EXPECT_EQ(table.Text(44),
            "NAME   N  NOTE\n"
            "w      3\n"
            "odd   10  the file holds objects, not\n"
            "          numbers\n");
  EXPECT_EQ(table.Text(25),
            "NAME   N\n"
            "w      3\n"
            "odd   10\n"
            "  the file holds objects,\n"
            "  not numbers\n");
}

TEST(WrapTest, AHelpLineGoesOnUnderItsText) {
  const std::string help =
      "Usage: warpfold\n\n  --jobs INT           Tensors in flight at a time\n  -h  Help\n";
  EXPECT_EQ(WrappedHelp(help, 0), help);
  EXPECT_EQ(WrappedHelp(help, 80), help);
  EXPECT_EQ(WrappedHelp(help, 47),
            "Usage: warpfold\n\n"
            "  --jobs INT           Tensors in flight at a\n"
            "                       time\n"
            "  -h  Help\n");
  EXPECT_EQ(WrappedHelp(help, 30),
            "Usage: warpfold\n\n"
            "  --jobs INT\n"
            "      Tensors in flight at a\n"
            "      time\n"
            "  -h  Help\n");
  for (const int columns : {1, 2, 5}) EXPECT_FALSE(WrappedHelp(help, columns).empty());
}

TEST(ProgressTest, ALineFitsItsTerminal) {
  EXPECT_EQ(Fitted("[==>]  50%  1 B of 2 B", 80), "[==>]  50%  1 B of 2 B");
  EXPECT_EQ(Fitted("[==>]  50%", 11), "[==>]  50%");
  const std::string line = "[==> ]  50%  171 MiB of 2.00 GiB  2.10 GB/s  0:12 left";
  EXPECT_EQ(Fitted(line, 55), "[==> ]  50%  171 MiB of 2.00 GiB  2.10 GB/s  0:12 left");
  EXPECT_EQ(Fitted(line, 54), "[==> ]  50%  171 MiB of 2.00 GiB  2.10 GB/s");
  EXPECT_EQ(Fitted(line, 33), "[==> ]  50%  171 MiB of 2.00 GiB");
  EXPECT_EQ(Fitted(line, 32), "[==> ]  50%");
  EXPECT_EQ(Fitted(line, 12), "[==> ]  50%");
  EXPECT_EQ(Fitted(line, 11), "50%");
  EXPECT_EQ(Fitted(line, 4), "50%");
  EXPECT_EQ(Fitted(line, 3), "");
  EXPECT_EQ(Fitted("[==>   ]  50%", 8), "50%") << "not a piece of the bar";
  EXPECT_EQ(Fitted("[==>]  50%", 0), "");
}

TEST(DescribeReportTest, WhatDoesNotExistIsADashAndANull) {
  DescribeReport report;
  report.file = "f";
  TensorSummary empty;
  empty.name = "empty";
  empty.dtype_name = "f32";
  empty.shape = {0};
  empty.mean = Make<float>(v1::DTYPE_F32, {}, {NAN});
  empty.sum = Make<float>(v1::DTYPE_F32, {}, {0});
  report.summaries.tensors.push_back(empty);
  EXPECT_EQ(ReportText({report}, false, true),
            "NAME   SHAPE  DTYPE  COUNT  MIN  MAX  MEAN  STD  NAN  INF\n"
            "empty  (0,)   f32        0    -    -   nan    -    -    -\n"
            "1 tensor, 0 B in 0.000 s, 0.00 GB/s\n");
  const auto json = ReportJson(report)["tensors"][0];
  EXPECT_TRUE(json["min"].is_null());
  EXPECT_EQ(json["mean"], "NaN");
  EXPECT_EQ(json["sum"], 0.0);
  EXPECT_TRUE(json["std"].is_null());
  EXPECT_TRUE(json["nan_count"].is_null());
  EXPECT_TRUE(json["inf_count"].is_null());
}

}  // namespace
}  // namespace warpfold::client
