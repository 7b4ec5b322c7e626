// `warpfold describe` and `reduce` of several files in one call.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/client/cli_fixture.h"
#include "tests/client/zip_archive.h"

namespace warpfold::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class FilesCliTest : public CliTest {
 protected:
  FilesCliTest()
      : a_(WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 2}, {1, 2, 3, 4})),
        b_(WriteFile("b.npz",
                     ZipArchive({{"x.npy", *NpyBytes({v1::DTYPE_F32, {1}, Bytes(5)})},
                                 {"y.npy", *NpyBytes({v1::DTYPE_F32, {1}, Bytes(NAN)})}}))),
        c_(WriteFile("c.safetensors",
                     SafetensorsFile(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                     Bytes(7)))) {}

  static std::string Bytes(float value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  }

  std::string All() const { return a_ + " " + b_ + " " + c_; }

  std::string a_, b_, c_;
};

TEST_F(FilesCliTest, DescribeIsOneTableThatNamesTheFiles) {
  const Outcome outcome = Run("describe " + All());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("FILE "));
  EXPECT_THAT(outcome.out, HasSubstr("NAME"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n" + a_ + " +a +\\(2, 2\\)"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n" + b_ + " +x +\\(1,\\)"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n" + b_ + " +y +\\(1,\\)"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n" + c_ + " +w +\\(1,\\)"));
  EXPECT_THAT(outcome.out, HasSubstr("\n4 tensors, 28 B in "));
  EXPECT_THAT(Run("describe " + a_).out, testing::StartsWith("NAME "));
}

TEST_F(FilesCliTest, JsonHasEachFileAsItIsAloneAndTheTotal) {
  const json all = json::parse(Run("describe --json " + All()).out);
  ASSERT_EQ(all["files"].size(), 3u);
  EXPECT_EQ(all["files"][0]["file"], a_);
  EXPECT_EQ(all["files"][1]["tensors"], json::parse(Run("describe --json " + b_).out)["tensors"]);
  EXPECT_EQ(all["total"]["tensors"], 4);
  EXPECT_EQ(all["total"]["bytes"], 28);
  const json sums = json::parse(Run("reduce --json --op sum " + a_ + " " + c_).out);
  EXPECT_EQ(sums["files"][1], json::parse(Run("reduce --json --op sum " + c_).out));
  EXPECT_EQ(sums["files"][0]["results"][0]["values"], json({10.0}));
  EXPECT_EQ(sums.size(), 1u);
}

TEST_F(FilesCliTest, ReduceLabelsItsValuesWithTheFile) {
  EXPECT_EQ(Run("reduce --op sum " + a_ + " " + c_).out, a_ + ": 10.0\n" + c_ + ": 7.0\n");
  EXPECT_EQ(Run("reduce " + c_ + " --op sum,max " + c_).out,
            c_ + ": sum: 7.0\n" + c_ + ": max: 7.0\n" + c_ + ": sum: 7.0\n" + c_ + ": max: 7.0\n");
  EXPECT_EQ(Run("reduce --op max --axis 1 --keepdims " + a_ + " " + a_).out,
            a_ + ":\n[[2.]\n [4.]]\n" + a_ + ":\n[[2.]\n [4.]]\n");
}

TEST_F(FilesCliTest, AFileThatIsWrongDoesNotEndTheOthers) {
  const std::string wrong = WriteFile("wrong.npy", "no array");
  const std::string files = a_ + " " + wrong + " " + Path("missing.npy") + " " + c_;
  const std::string as_json = "--json " + files;
  for (const std::string command : {"describe ", "reduce --op sum "}) {
    const Outcome text = Run(command + files);
    EXPECT_EQ(text.exit_code, 2) << command;
    EXPECT_THAT(text.out, HasSubstr(a_));
    EXPECT_THAT(text.out, HasSubstr(c_));
    EXPECT_THAT(text.out, Not(HasSubstr("wrong.npy")));
    EXPECT_THAT(text.err, HasSubstr("warpfold: " + wrong + ": is not a .npy file\n"));
    EXPECT_THAT(text.err, HasSubstr("warpfold: " + Path("missing.npy") + ": "));
    const Outcome outcome = Run(command + as_json);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    const json list = json::parse(outcome.out)["files"];
    ASSERT_EQ(list.size(), 4u);
    EXPECT_EQ(list[1], (json{{"file", wrong}, {"error", wrong + ": is not a .npy file"}}));
    EXPECT_EQ(list[3]["file"], c_);
    EXPECT_FALSE(list[3].contains("error"));
  }
}

TEST_F(FilesCliTest, TheExitCodeIsTheWorst) {
  const std::string fail_on = "describe --fail-on nan ";
  const Outcome found = Run(fail_on + All());
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_EQ(found.err, "warpfold: " + b_ + ": --fail-on: 1 of 2 tensors: y (nan)\n");
  EXPECT_EQ(Run(fail_on + a_ + " " + c_).exit_code, 0);
  EXPECT_EQ(Run(fail_on + Path("missing.npy") + " " + b_).exit_code, 2);
  EXPECT_EQ(Run(fail_on + b_ + " " + Path("missing.npy")).exit_code, 2);
  // 3 is above 2. The file after the failure would wait for the same server.
  const std::string dead = "WARPFOLD_TARGET=localhost:1";
  for (const std::string command : {"describe ", "reduce --op sum "}) {
    const Outcome outcome =
        RunAt(dead, command + "--timeout 0.2 --json " + Path("missing.npy") + " " + a_ + " " + c_);
    EXPECT_EQ(outcome.exit_code, 3) << command;
    const json list = json::parse(outcome.out)["files"];
    ASSERT_EQ(list.size(), 2u) << command;
    EXPECT_EQ(list[1]["file"], a_);
    EXPECT_TRUE(list[1].contains("error"));
  }
}

TEST_F(FilesCliTest, WhatTakesOneFileSaysSo) {
  ExpectFailure("describe - -", 2, "stdin: can be one of the files, not several");
  ExpectFailure("reduce - " + a_ + " - --op sum", 2, "stdin: can be one of the files, not several");
  ExpectFailure("reduce " + a_ + " " + c_ + " --op sum --output " + Path("out.npy"), 2,
                "--output: takes exactly one file");
  ExpectFailure("describe " + a_ + " ''", 2, "FILE: is empty");
}

TEST_F(FilesCliTest, WhatFollowsAValueIsAFile) {
  EXPECT_EQ(Run("reduce --op sum " + a_ + " " + c_).out,
            Run("reduce " + a_ + " " + c_ + " --op sum").out);
  const Outcome outcome = Run("reduce " + a_ + " --op sum mean");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("mean: No such file"));
}

}  // namespace
}  // namespace warpfold::client
