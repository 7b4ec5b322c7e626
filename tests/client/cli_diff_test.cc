// `warpfold diff`: what is told apart, how it is told, and the exit codes.
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/client/cli_fixture.h"
#include "tests/client/zip_archive.h"

namespace warpfold::client {
namespace {

using namespace std::string_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class DiffCliTest : public CliTest {
 protected:
  // A .safetensors file of f32 tensors of one axis.
  std::string Checkpoint(
      const std::string& name,
      const std::vector<std::pair<std::string, std::vector<float>>>& tensors) const {
    json header;
    std::string data;
    for (const auto& [tensor, values] : tensors) {
      const std::size_t begin = data.size();
      data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
      header[tensor] = {
          {"dtype", "F32"}, {"shape", {values.size()}}, {"data_offsets", {begin, data.size()}}};
    }
    return WriteFile(name, SafetensorsFile(header.dump(), data));
  }
};

TEST_F(DiffCliTest, EqualFilesAreExitCode0AndNeedNoServer) {
  const auto a = Checkpoint("a.safetensors", {{"w", {1, NAN}}, {"v", {3}}, {"none", {}}});
  const auto b = Checkpoint("b.safetensors", {{"v", {3}}, {"w", {1, NAN}}, {"none", {}}});
  server_.Stop();
  const Outcome outcome = Run("diff " + a + " " + b);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "A: " + a + "\nB: " + b + "\n3 identical, 0 changed, 0 only in A, 0 only in B\n");
}

TEST_F(DiffCliTest, EachKindOfChangeHasARow) {
  const auto a = Checkpoint(
      "a.safetensors", {{"gone", {9}}, {"same", {1, 2}}, {"shape", {1, 2}}, {"values", {1, 2, 3}}});
  const auto b =
      Checkpoint("b.safetensors",
                 {{"new", {8}}, {"same", {1, 2}}, {"shape", {1, 2, 3}}, {"values", {1, NAN, 3}}});
  const Outcome outcome = Run("diff " + a + " " + b);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(
      outcome.out.substr(0, outcome.out.find("A: ")),
      "NAME    CHANGE     SHAPE         DTYPE  CHANGED  MAX |A-B|  AT    REL L2       MIN       MAX"
      "      MEAN              STD     NAN\n"
      "values  values     (3,)          f32          1        nan  (1,)     nan  1 -> nan  3 -> nan"
      "  2 -> nan  0.816497 -> nan  0 -> 1\n"
      "gone    only in A  (1,)          f32          -          -  -          -         -         -"
      "         -                -       -\n"
      "shape   shape      (2,) -> (3,)  f32          -          -  -          -         1    2 -> 3"
      "  1.5 -> 2  0.5 -> 0.816497       0\n"
      "new     only in B  (1,)          f32          -          -  -          -         -         -"
      "         -                -       -\n");
  EXPECT_THAT(outcome.out, HasSubstr("1 identical, 2 changed, 1 only in A, 1 only in B\n"));
  EXPECT_EQ(server_.service().unary_calls(), 4);  // both sides of what changed, and no more
}

TEST_F(DiffCliTest, JsonHasBothSides) {
  const auto a = Checkpoint("a.safetensors", {{"gone", {9}}, {"same", {1}}, {"w", {1, 3}}});
  const auto b = Checkpoint("b.safetensors", {{"same", {1}}, {"w", {1, 5}}});
  const Outcome outcome = Run("diff --json " + a + " " + b);
  EXPECT_EQ(outcome.exit_code, 1);
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["a"], a);
  ASSERT_EQ(report["tensors"].size(), 3u);
  EXPECT_EQ(report["tensors"][0]["change"], "values");
  EXPECT_EQ(report["tensors"][0]["a"]["max"], 3.0);
  EXPECT_EQ(report["tensors"][0]["b"]["max"], 5.0);
  EXPECT_EQ(report["tensors"][0]["b"]["nan_count"], 0);
  EXPECT_EQ(report["tensors"][0]["difference"]["changed"], 1);
  EXPECT_EQ(report["tensors"][0]["difference"]["max_abs"], 2.0);
  EXPECT_EQ(report["tensors"][0]["difference"]["max_at"], json::array({1}));
  EXPECT_NEAR(report["tensors"][0]["difference"]["relative_l2"].get<double>(), 2 / std::sqrt(10.0),
              1e-15);
  EXPECT_EQ(report["tensors"][1]["change"], "only_in_a");
  EXPECT_TRUE(report["tensors"][1]["b"].is_null());
  EXPECT_TRUE(report["tensors"][1]["difference"].is_null());
  EXPECT_TRUE(report["tensors"][1]["a"]["max"].is_null());
  EXPECT_EQ(report["tensors"][2]["change"], "identical");
  EXPECT_EQ(report["total"], (json{{"identical", 1},
                                   {"within_tolerance", 0},
                                   {"changed", 1},
                                   {"only_in_a", 1},
                                   {"only_in_b", 0}}));
  EXPECT_TRUE(report["tolerance"].is_null());
}

TEST_F(DiffCliTest, AChangeBelowSixDigitsIsShownInAsFewAsItNeeds) {
  const auto f64 = [&](const std::string& name, double last) {
    return WriteArray<double>(name, v1::DTYPE_F64, {3}, {1.0 / 3, 2.0 / 3, last});
  };
  const std::string a = f64("a.npy", 1.1);
  EXPECT_THAT(Run("diff " + a + " " + f64("b.npy", 1.1 + 3e-9)).out,
              HasSubstr("  0.333333  1.1 -> 1.100000003  ≈ 0.7  ≈ 0.313877    0\n"));
  // The next double, and the next float: all their digits.
  EXPECT_THAT(Run("diff " + a + " " + f64("b.npy", std::nextafter(1.1, 2.0))).out,
              HasSubstr("  1.1000000000000001 -> 1.1000000000000003  "));
  const auto one = Checkpoint("a.safetensors", {{"w", {1}}});
  const auto next = Checkpoint("b.safetensors", {{"w", {std::nextafter(1.0f, 2.0f)}}});
  EXPECT_THAT(Run("diff " + one + " " + next).out, HasSubstr("  1 -> 1.0000001  "));
  // What six digits show has no more.
  EXPECT_THAT(Run("diff " + a + " " + f64("b.npy", 1.2)).out,
              HasSubstr("  1.1 -> 1.2  0.7 -> 0.73"));
}

TEST_F(DiffCliTest, SwappedElementsAreSeenAndWhatChangedMostComesFirst) {
  const auto a =
      Checkpoint("a.safetensors", {{"little", {100, 2}}, {"nan", {1, 1}}, {"swap", {1, 2, 3}}});
  const auto b =
      Checkpoint("b.safetensors", {{"little", {100, 3}}, {"nan", {1, NAN}}, {"swap", {1, 3, 2}}});
  const Outcome outcome = Run("diff --json " + a + " " + b);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const json tensors = json::parse(outcome.out)["tensors"];
  EXPECT_EQ(tensors[0]["name"], "nan");
  EXPECT_EQ(tensors[0]["difference"],
            (json{{"changed", 1}, {"max_abs", "NaN"}, {"max_at", {1}}, {"relative_l2", "NaN"}}));
  EXPECT_EQ(tensors[1]["name"], "swap");
  EXPECT_EQ(tensors[1]["difference"]["changed"], 2);
  EXPECT_EQ(tensors[1]["difference"]["max_abs"], 1.0);
  EXPECT_EQ(tensors[1]["difference"]["max_at"], json::array({1}));
  EXPECT_EQ(tensors[2]["name"], "little");
}

TEST_F(DiffCliTest, AToleranceSetsTheExitCode) {
  const auto a = Checkpoint("a.safetensors", {{"w", {1, 0.0F, 3}}});
  const auto b = Checkpoint("b.safetensors", {{"w", {1.5, -0.0F, 3}}});
  const std::string diff = "diff " + a + " " + b;
  EXPECT_EQ(Run(diff).exit_code, 1);
  EXPECT_EQ(Run(diff + " --tolerance 0.5").exit_code, 0);
  EXPECT_EQ(Run(diff + " --tolerance 0.49").exit_code, 1);
  ExpectFailure(diff + " --tolerance -1", 2, "--tolerance: -1 is negative\n");
  for (const char* no_number : {"x", "nan", "inf"}) {
    ExpectFailure(diff + " --tolerance " + no_number, 2,
                  absl::StrCat("--tolerance: '", no_number, "' is no number\n"));
  }
  const auto nan = Checkpoint("n.safetensors", {{"w", {1, 0, NAN}}});
  EXPECT_EQ(Run("diff " + a + " " + nan + " --tolerance 1e30").exit_code, 1);
  EXPECT_EQ(Run("diff " + nan + " " + nan + " --tolerance 0").exit_code, 0);
  const auto other = Checkpoint("o.safetensors", {{"v", {1}}});
  EXPECT_EQ(Run("diff " + a + " " + other + " --tolerance 1e30").exit_code, 1);
}

TEST_F(DiffCliTest, WhatIsWithinTheToleranceIsToldFromWhatChanged) {
  const auto a = Checkpoint("a.safetensors", {{"near", {1, 2}}, {"far", {1}}, {"same", {1}}});
  const auto b = Checkpoint("b.safetensors", {{"near", {1.5, 2}}, {"far", {9}}, {"same", {1}}});
  const std::string diff = "diff " + a + " " + b;
  const Outcome some = Run(diff + " --tolerance 0.5");
  EXPECT_EQ(some.exit_code, 1);
  EXPECT_THAT(some.out, testing::ContainsRegex("near +tolerated "));
  EXPECT_THAT(some.out, testing::ContainsRegex("far +values "));
  EXPECT_THAT(some.out, HasSubstr("1 identical, 1 within the tolerance, 1 changed, 0 only in A"));
  EXPECT_THAT(Run(diff).out, HasSubstr("1 identical, 2 changed, 0 only in A"));
  const Outcome all = Run(diff + " --tolerance 8");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, HasSubstr("1 identical, 2 within the tolerance, 0 changed, 0 only in A"));
  const json report = json::parse(Run("--json " + diff + " --tolerance 0.5").out);
  EXPECT_EQ(report["tolerance"], 0.5);
  EXPECT_EQ(report["total"]["within_tolerance"], 1);
  EXPECT_EQ(report["total"]["changed"], 1);
  EXPECT_EQ(report["tensors"][0]["change"], "values");
  EXPECT_EQ(report["tensors"][1]["change"], "within_tolerance");
}

TEST_F(DiffCliTest, LargeIntegersAreComparedExactly) {
  const auto a = WriteArray<std::int64_t>("a.npy", v1::DTYPE_I64, {2, 2}, {0, 0, 0, INT64_MAX});
  const auto b = WriteArray<std::int64_t>("b.npy", v1::DTYPE_I64, {2, 2}, {0, 0, 0, INT64_MAX - 1});
  const json difference =
      json::parse(Run("diff --json " + a + " " + b).out)["tensors"][0]["difference"];
  EXPECT_EQ(difference["max_abs"], 1.0);
  EXPECT_EQ(difference["max_at"], json::array({1, 1}));
}

TEST_F(DiffCliTest, ArraysWithoutNamesArePaired) {
  const auto a = WriteArray<std::int32_t>("a.npy", v1::DTYPE_I32, {2}, {1, 2});
  const auto b = WriteArray<std::int32_t>("b.npy", v1::DTYPE_I32, {2}, {1, 2});
  const auto c = WriteArray<std::int64_t>("c.npy", v1::DTYPE_I64, {2}, {1, 2});
  EXPECT_EQ(Run("diff " + a + " " + b).exit_code, 0);
  EXPECT_EQ(Run("diff " + a + " - < " + b).exit_code, 0);
  const Outcome dtype = Run("diff " + a + " " + c);
  EXPECT_EQ(dtype.exit_code, 1);
  EXPECT_THAT(dtype.out, HasSubstr("a     dtype   (2,)   i32 -> i64        -          -  -        "
                                   "-    1    2   1.5  0.5    0\n"));
  const auto raw = WriteFile("raw", "abcdefgh");
  EXPECT_EQ(Run("diff --dtype f32 " + raw + " " + raw).exit_code, 0);
}

TEST_F(DiffCliTest, ADTypeThatTheServerDoesNotHaveIsComparedByItsBits) {
  const auto half = [&](const std::string& name, const std::string& bits) {
    return WriteFile(
        name, SafetensorsFile(R"({"h":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})", bits));
  };
  const auto a = half("a.safetensors", "ab");
  EXPECT_EQ(Run("diff " + a + " " + half("b.safetensors", "ab")).exit_code, 0);
  const Outcome outcome = Run("diff " + a + " " + half("c.safetensors", "ac"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("h     values  (1,)   f16          1        128  (0,)  "
                                     "0.156767    -    -     -    -    -\n"));
}

TEST_F(DiffCliTest, AnOddMemberOfAnNpzIsComparedByItsBytes) {
  const auto npy = [](const std::string& descr, const std::string& data) {
    std::string bytes = *NpyBytes({v1::DTYPE_I32, {1}, data});
    return bytes.replace(bytes.find("<i4"), 3, descr);
  };
  const auto npz = [&](const std::string& name, const std::string& odd, const std::string& w) {
    return WriteFile(name, ZipArchive({{"odd.npy", odd}, {"w.npy", npy("<i4", w)}}));
  };
  const auto a = npz("a.npz", npy("<U1", "a\0\0\0"s), "abcd");
  const auto same = npz("same.npz", npy("<U1", "a\0\0\0"s), "abcd");
  EXPECT_EQ(Run("diff " + a + " " + same).exit_code, 0);
  const Outcome values = Run("diff " + a + " " + npz("w.npz", npy("<U1", "a\0\0\0"s), "abce"));
  EXPECT_EQ(values.exit_code, 1) << values.err;
  EXPECT_THAT(values.out, HasSubstr("1 identical, 1 changed"));
  EXPECT_THAT(values.out, Not(HasSubstr("NOTE")));
  const auto b = npz("b.npz", npy("<U1", "b\0\0\0"s), "abcd");
  const Outcome bytes = Run("diff " + a + " " + b + " --tolerance 1e9");
  EXPECT_EQ(bytes.exit_code, 1) << bytes.err;
  EXPECT_THAT(bytes.out,
              testing::ContainsRegex(
                  "odd +bytes +- +- .*  descr: '<U1': the file holds text, not numbers"));
  const json odd = json::parse(Run("--json diff " + a + " " + b).out)["tensors"][0];
  EXPECT_EQ(odd["change"], "bytes");
  EXPECT_TRUE(odd["a"]["shape"].is_null());
  EXPECT_THAT(odd["b"]["note"].get<std::string>(), HasSubstr("'<U1'"));
  // Only one of them can be read.
  const Outcome read = Run("diff " + a + " " + npz("i.npz", npy("<i4", "abcd"), "abcd"));
  EXPECT_EQ(read.exit_code, 1) << read.err;
  EXPECT_THAT(read.out, testing::ContainsRegex("odd +dtype +- -> \\(1,\\) +- -> i32 "));
  EXPECT_EQ(Run("diff " + a + " " + WriteArray<float>("f.npy", v1::DTYPE_F32, {1}, {1})).exit_code,
            1);
}

TEST_F(DiffCliTest, FloatsOfTwoDTypesAreComparedByTheirValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto f64 =
      WriteArray<double>("a.npy", v1::DTYPE_F64, {2, 3}, {0.5, 0.1, 3, NAN, infinity, -0.0});
  const auto f32 =
      WriteArray<float>("b.npy", v1::DTYPE_F32, {2, 3},
                        {0.5f, 0.1f, 5, NAN, std::numeric_limits<float>::infinity(), 0});
  const Outcome text = Run("diff " + f64 + " " + f32);
  EXPECT_EQ(text.exit_code, 1) << text.err;
  EXPECT_THAT(text.out,
              testing::ContainsRegex("a +dtype +\\(2, 3\\) +f64 -> f32 +2 +2 +\\(0, 2\\) +0.65"));
  const json difference =
      json::parse(Run("diff --json " + f64 + " " + f32).out)["tensors"][0]["difference"];
  EXPECT_EQ(difference["changed"], 2);
  EXPECT_EQ(difference["max_abs"], 2.0);
  EXPECT_EQ(difference["max_at"], json({0, 2}));
  // Another dtype is a difference, whatever the tolerance.
  EXPECT_EQ(Run("diff --tolerance 9 " + f64 + " " + f32).exit_code, 1);
  const auto same = WriteArray<float>("c.npy", v1::DTYPE_F32, {2}, {0.5, 2});
  const auto wide = WriteArray<double>("d.npy", v1::DTYPE_F64, {2}, {0.5, 2});
  EXPECT_THAT(Run("diff " + same + " " + wide).out,
              testing::ContainsRegex("c +dtype +\\(2,\\) +f32 -> f64 +0 +0 +- +0 "));
  EXPECT_TRUE(
      json::parse(Run("diff --json " + same + " " + wide).out)["tensors"][0]["difference"]["max_at"]
          .is_null());
  // Across the blocks that are compared at a time.
  std::vector<float> many(5 << 20, 1);
  std::vector<double> much(many.begin(), many.end());
  much[many.size() - 1] = 3;
  const json last =
      json::parse(Run("diff --json " + WriteArray<float>("e.npy", v1::DTYPE_F32, {5 << 20}, many) +
                      " " + WriteArray<double>("f.npy", v1::DTYPE_F64, {5 << 20}, much))
                      .out)["tensors"][0]["difference"];
  EXPECT_EQ(last["changed"], 1);
  EXPECT_EQ(last["max_at"], json({(5 << 20) - 1}));
  // Integers and floats are not.
  const auto whole = WriteArray<std::int32_t>("g.npy", v1::DTYPE_I32, {2}, {1, 2});
  EXPECT_TRUE(json::parse(Run("diff --json " + same + " " + whole).out)["tensors"][0]["difference"]
                  .is_null());
}

TEST_F(DiffCliTest, TroubleIsNotADifference) {
  const auto a = Checkpoint("a.safetensors", {{"w", {1}}});
  const auto b = Checkpoint("b.safetensors", {{"w", {2}}});
  ExpectFailure("diff " + a, 2, "B is required");
  ExpectFailure("diff " + a + " " + Path("missing.npy"), 2, "missing.npy");
  ExpectFailure("diff - -", 2, "stdin: can be one of the files, not both");
  server_.service().FailNext(1, {grpc::StatusCode::INVALID_ARGUMENT, "planned", {}, {}});
  ExpectFailure("diff " + a + " " + b, 2, "a.safetensors: tensor 'w': planned");
  server_.Stop();
  ExpectFailure("--timeout 0.5 diff " + a + " " + b, 3, server_.address());
}

TEST_F(DiffCliTest, ColourIsAskedFor) {
  const auto a = Checkpoint("a.safetensors", {{"gone", {9}}, {"w", {1}}});
  const auto b = Checkpoint("b.safetensors", {{"new", {9}}, {"w", {2}}});
  const std::string text = Run("diff --color=always " + a + " " + b).out;
  EXPECT_THAT(text, HasSubstr("\x1b[31monly in A\x1b[0m"));
  EXPECT_THAT(text, HasSubstr("\x1b[32monly in B\x1b[0m"));
  EXPECT_THAT(text, HasSubstr("\x1b[33mvalues\x1b[0m"));
  EXPECT_THAT(Run("diff " + a + " " + b).out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace warpfold::client
