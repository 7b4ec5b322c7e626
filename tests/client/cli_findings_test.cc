// `warpfold describe` as a check: flags, --fail-on and its exit codes, colour.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/client/cli_fixture.h"

namespace warpfold::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class FindingsCliTest : public CliTest {
 protected:
  FindingsCliTest() {
    const float values[] = {1, 2, 1, NAN, 1, INFINITY, 0, 0, 7, 7};
    file_ =
        WriteFile("m.safetensors",
                  SafetensorsFile(R"({"clean":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                  R"("nans":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                                  R"("infs":{"dtype":"F32","shape":[2],"data_offsets":[16,24]},)"
                                  R"("zeros":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},)"
                                  R"("sevens":{"dtype":"F32","shape":[2],"data_offsets":[32,40]}})",
                                  {reinterpret_cast<const char*>(values), sizeof(values)}));
  }

  std::string file_;
};

TEST_F(FindingsCliTest, FlagsAreAColumnAndAList) {
  const Outcome text = Run("describe " + file_);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("  INF  FLAGS\n"));
  EXPECT_THAT(text.out, HasSubstr("    1    0  nan\n"));
  EXPECT_THAT(text.out, HasSubstr("    0    1  inf\n"));
  EXPECT_THAT(text.out, HasSubstr("  zero,constant\n"));
  const json tensors = json::parse(Run("describe --json " + file_).out)["tensors"];
  EXPECT_EQ(tensors[0]["flags"], json::array());
  EXPECT_EQ(tensors[1]["flags"], json::array({"nan"}));
  EXPECT_EQ(tensors[3]["flags"], json::array({"zero", "constant"}));
  EXPECT_EQ(tensors[4]["flags"], json::array({"constant"}));
}

TEST_F(FindingsCliTest, FailOnIsExitCode1AndNamesTheTensors) {
  const Outcome nan = Run("describe " + file_ + " --fail-on nan");
  EXPECT_EQ(nan.exit_code, 1);
  EXPECT_THAT(nan.out, HasSubstr("clean"));  // the report comes all the same
  EXPECT_EQ(nan.err, "warpfold: --fail-on: 1 of 5 tensors: nans (nan)\n");
  const Outcome two = Run("describe --json --fail-on inf,constant " + file_);
  EXPECT_EQ(two.exit_code, 1);
  EXPECT_EQ(json::parse(two.out)["tensors"].size(), 5u);
  EXPECT_THAT(two.err,
              HasSubstr("3 of 5 tensors: infs (inf), zeros (constant), sevens (constant)"));
  EXPECT_EQ(Run("describe --fail-on zero " + file_).exit_code, 1);
}

TEST_F(FindingsCliTest, ACleanFileIsExitCode0) {
  const auto clean = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const Outcome outcome = Run("describe " + clean + " --fail-on nan,inf,zero,constant");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(FindingsCliTest, WhatCannotBeToldDoesNotPassForClean) {
  const auto file =
      WriteFile("h.safetensors",
                SafetensorsFile(R"({"h":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})", "ab"));
  EXPECT_EQ(Run("describe " + file).exit_code, 0);
  const Outcome outcome = Run("describe " + file + " --fail-on nan");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--fail-on: this server does not tell it of h"));
}

TEST_F(FindingsCliTest, ATableAsksForWhatItShows) {
  const auto file = WriteArray<std::int64_t>("a.npy", v1::DTYPE_I64, {2}, {1, 2});
  v1::GetServerInfoResponse& info = server_.service().info();
  info.mutable_ops()->erase(info.mutable_ops()->begin());  // SUM, which then is refused
  const Outcome text = Run("describe " + file);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, Not(HasSubstr("NOTE")));
  std::vector<v1::Op> ops;
  const v1::ReduceRequest asked = server_.service().last_request();
  for (const v1::OpSpec& spec : asked.ops()) ops.push_back(spec.op());
  EXPECT_THAT(ops, testing::ElementsAre(v1::OP_MEAN, v1::OP_STD, v1::OP_MIN, v1::OP_MAX,
                                        v1::OP_NAN_COUNT, v1::OP_INF_COUNT));
}

// That of VAR and STD, which is 0 unless it is said.
double CorrectionOf(const v1::ReduceRequest& request) {
  for (const v1::OpSpec& spec : request.ops()) {
    if (spec.has_variance()) return spec.variance().correction();
  }
  ADD_FAILURE() << "neither VAR nor STD is asked for";
  return 0;
}

TEST_F(FindingsCliTest, NansMayBeLeftOutAndDeviationsCorrected) {
  const auto floats = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const auto ints = WriteArray<std::int64_t>("i.npy", v1::DTYPE_I64, {2}, {1, 2});
  const auto run = [&](const std::string& command, const std::string& flags) {
    const Outcome outcome = Run(command + flags);
    EXPECT_EQ(outcome.exit_code, 0) << command << flags << outcome.err;
    return server_.service().last_request();
  };
  for (const auto& [of_floats, of_ints] :
       {std::pair("describe " + floats, "describe " + ints),
        std::pair("reduce " + floats + " --op std", "reduce " + ints + " --op std")}) {
    EXPECT_EQ(run(of_floats, " --omit-nan --ddof 1.5").nan_policy(), v1::NAN_POLICY_OMIT);
    EXPECT_EQ(CorrectionOf(server_.service().last_request()), 1.5);
    EXPECT_EQ(run(of_ints, " --omit-nan").nan_policy(), v1::NAN_POLICY_PROPAGATE);
    EXPECT_EQ(CorrectionOf(server_.service().last_request()), 0);
    ExpectFailure(of_floats + " --ddof x", 2, "--ddof");
  }
}

TEST_F(FindingsCliTest, AnUnknownFindingIsExitCode2) {
  ExpectFailure("describe " + file_ + " --fail-on nan,big", 2, "--fail-on: big not in {nan,inf,");
}

TEST_F(FindingsCliTest, ColourIsAskedFor) {
  EXPECT_THAT(Run("describe " + file_).out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(Run("describe --color=always " + file_).out, HasSubstr("\x1b[31mnan\x1b[0m"));
  EXPECT_THAT(Run("describe --color=always --json " + file_).out, Not(HasSubstr("\x1b[")));
  ExpectFailure("describe --color=sometimes " + file_, 2, "--color: sometimes not in {auto,");
}

}  // namespace
}  // namespace warpfold::client
