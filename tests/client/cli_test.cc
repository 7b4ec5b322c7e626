// The program `warpfold` as its user meets it: exit codes, stdout, stderr; against the fake
// service.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/client/cli_fixture.h"

namespace warpfold::client {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(CliTest, ReducePrintsOneOpBareAndSeveralLabelled) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Run("reduce " + file + " --op sum").out, "21.0\n");
  EXPECT_EQ(Run("reduce " + file + " --op sum,mean --axis 0").out,
            "sum: [5. 7. 9.]\nmean: [2.5 3.5 4.5]\n");
  EXPECT_EQ(Run("reduce " + file + " --op max --axis -1 --keepdims").out, "[[3.]\n [6.]]\n");
  EXPECT_EQ(Run("reduce " + file + " --op min --axis 0,1").out, "1.0\n");
}

TEST_F(CliTest, ReduceJsonNamesEverything) {
  const auto file = WriteArray<std::int64_t>("a.npy", v1::DTYPE_I64, {2}, {INT64_MAX - 5, 5});
  const Outcome outcome = Run("--json reduce " + file + " --op sum,mean");
  const json answer = json::parse(outcome.out);
  EXPECT_EQ(answer["dtype"], "i64");
  EXPECT_EQ(answer["shape"], json::array({2}));
  EXPECT_EQ(answer["device"], "fake");
  EXPECT_EQ(answer["results"][0]["op"], "sum");
  EXPECT_EQ(answer["results"][0]["values"][0].get<std::int64_t>(), INT64_MAX);
  EXPECT_EQ(answer["results"][1]["dtype"], "f64");
}

TEST_F(CliTest, ReduceWritesItsResultAsNpy) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 2}, {1, 2, 3, 4});
  const Outcome outcome = Run("reduce " + file + " --op sum --axis 1 --output " + Path("out.npy"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(Run("reduce " + Path("out.npy") + " --op max").out, "7.0\n");
  ExpectFailure("reduce " + file + " --op sum,min --output x.npy", 2,
                "--output: takes exactly one");
  ExpectFailure("reduce " + file + " --op sum --output /nowhere/x.npy", 2, "cannot write /nowhere");
}

TEST_F(CliTest, TheTokenOfAFileGoesWithItsCalls) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  std::ofstream(Path("token")) << "token-of-a-caller\n";
  EXPECT_EQ(Run("reduce " + file + " --op sum --token-file " + Path("token")).out, "3.0\n");
  EXPECT_EQ(server_.service().authorizations().back(), "Bearer token-of-a-caller");
  EXPECT_EQ(Run("reduce " + file + " --op sum").out, "3.0\n");
  EXPECT_EQ(server_.service().authorizations().back(), "");
  const std::string environment =
      "WARPFOLD_TARGET=" + server_.address() + " WARPFOLD_TOKEN_FILE=" + Path("token");
  EXPECT_EQ(RunAt(environment, "reduce " + file + " --op sum").out, "3.0\n");
  EXPECT_EQ(server_.service().authorizations().back(), "Bearer token-of-a-caller");
  ExpectFailure("reduce " + file + " --op sum --token-file " + Path("none"), 2,
                "--token-file: " + Path("none") + ": cannot be read");
  ExpectFailure("reduce " + file + " --op sum --token-file /tmp", 2,
                "--token-file: /tmp: cannot be read");
  ExpectFailure("reduce " + file + " --op sum --token-file /dev/zero", 2,
                "--token-file: /dev/zero: has more than 1 MiB");
  ExpectFailure("reduce " + file + " --op sum --tls --tls-ca /tmp", 2, "/tmp: cannot be read");
  ExpectFailure("reduce " + file + " --op sum --tls-ca " + file, 2,
                "--tls-ca: " + file + ": holds no PEM certificate\n");
  std::ofstream(Path("empty")) << "\n";
  ExpectFailure("reduce " + file + " --op sum --token-file " + Path("empty"), 2,
                "--token-file: " + Path("empty") + ": holds no token");
  std::ofstream(Path("words")) << "two words\n";
  ExpectFailure("reduce " + file + " --op sum --token-file " + Path("words"), 2,
                "--token-file: " + Path("words") + ": a token is printable");
}

TEST_F(CliTest, LargeFilesAreStreamedWithoutBeingAsked) {
  const auto file =
      WriteArray<float>("big.npy", v1::DTYPE_F32, {3 << 20}, std::vector<float>(3 << 20, 0.5f));
  EXPECT_EQ(Run("reduce " + file + " --op sum").out, "1572864.0\n");
  EXPECT_EQ(server_.service().stream_calls(), 1);
  EXPECT_EQ(server_.service().unary_calls(), 0);
}

TEST_F(CliTest, BadArraysAreExitCode2AndNameTheFile) {
  const std::string npy = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  std::ifstream in(npy, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string copy = bytes;
    copy.replace(copy.find(from), from.size(), to);
    return WriteFile("broken.npy", copy);
  };
  ExpectFailure("reduce " + WriteFile("t.npy", bytes.substr(0, bytes.size() - 1)) + " --op sum", 2,
                "t.npy: truncated");
  ExpectFailure("reduce " + broken("<f4", "|O8") + " --op sum", 2, "Python objects");
  ExpectFailure("reduce " + WriteFile("e.npy", "") + " --op sum", 2, "e.npy: is empty");
  ExpectFailure("reduce " + Path("missing.npy") + " --op sum", 2, "missing.npy");
  ExpectFailure("reduce " + folder_.path() + " --op sum", 2, "is not a regular file");
  const auto u8 = WriteArray<std::uint8_t>("u8.npy", v1::DTYPE_U8, {2}, {1, 2});
  ExpectFailure("reduce " + u8 + " --op sum", 2,
                "u8.npy: dtype: this server does not reduce u8; it has i32, i64, f32, f64");
}

TEST_F(CliTest, WhatCannotBePrintedIsExitCode3) {
  const auto a = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const auto b = WriteArray<float>("b.npy", v1::DTYPE_F32, {2}, {1, 3});
  for (const std::string& command :
       {"reduce " + a + " --op sum", "describe " + a, "describe --json " + a,
        absl::StrCat("diff ", a, " ", b), std::string("info"), std::string("man"),
        std::string("completion bash"), std::string("--version"), std::string("--help"),
        std::string("bench --duration 0 --warmup 0")}) {
    ExpectFailure(command + " >/dev/full", 3, "warpfold: stdout: cannot be written\n");
  }
}

TEST_F(CliTest, AReaderThatIsGoneIsNoFailure) {
  const auto a = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const auto b = WriteArray<float>("b.npy", v1::DTYPE_F32, {2}, {1, 3});
  // The shell writes until nobody reads.
  const std::string command = "WARPFOLD_TARGET=" + server_.address() + " '" WARPFOLD_CLI "' diff " +
                              a + " " + b + " 2>'" + Path("err") + "'";
  RunShell("{ trap '' PIPE; while printf x; do :; done 2>/dev/null; " + command + "; echo $? >'" +
           Path("code") + "'; } | true");
  std::ostringstream code, err;
  code << std::ifstream(Path("code")).rdbuf();
  err << std::ifstream(Path("err")).rdbuf();
  EXPECT_EQ(code.str(), "1\n");
  EXPECT_EQ(err.str(), "");
}

TEST_F(CliTest, ATensorThatNeverFitsIsExitCode2AndAFullServer3) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"reduce " + file + " --op sum", "a.npy: planned"},
      {"describe " + file, "a.npy: tensor 'a': planned"}};
  for (const auto& [command, problem] : commands) {
    server_.service().FailNext(1, {grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", {}, {}});
    ExpectFailure(command, 2, problem);
    server_.service().FailNext(1000, {grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", 1, {}});
    ExpectFailure("--timeout 1 " + command, 3, "planned (after ");
  }
}

TEST_F(CliTest, AnUnknownTokenIsExitCode2) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  for (const std::string& command : {"reduce " + file + " --op sum", "describe " + file}) {
    server_.service().FailNext(1, {grpc::StatusCode::UNAUTHENTICATED, "planned", {}, {}});
    ExpectFailure(command, 2, "planned");
  }
}

TEST_F(CliTest, AServerThatIsNotThereIsExitCode3) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  server_.Stop();
  for (const auto& command :
       std::vector<std::string>{"reduce " + file + " --op sum", "describe " + file, "info"}) {
    ExpectFailure("--timeout 0.5 " + command, 3, server_.address());
  }
}

TEST_F(CliTest, AServerThatDoesNotAnswerIsExitCode3) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const auto big =
      WriteArray<float>("big.npy", v1::DTYPE_F32, {2 << 20}, std::vector<float>(2 << 20));
  server_.service().Hang();
  for (const std::string& a : {file, big}) {
    ExpectFailure("--timeout 0.2 reduce " + a + " --op sum", 3, "; --timeout sets another limit");
    ExpectFailure("--timeout 0.2 describe " + a, 3, "; --timeout sets another limit");
  }
  ExpectFailure("--timeout 0.2 describe " + big, 3, "Deadline Exceeded: no progress for 200 ms;");
}

TEST_F(CliTest, TheServerFlagWinsOverTheEnvironment) {
  const Outcome outcome =
      RunAt("WARPFOLD_TARGET=127.0.0.1:1", "info --server " + server_.address());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(CliTest, InfoShowsWhatTheServerSays) {
  const Outcome text = Run("info");
  EXPECT_THAT(text.out, ContainsRegex("version +fake-1\n"));
  EXPECT_THAT(text.out, HasSubstr("naive loops, 1.00 GiB"));
  EXPECT_THAT(text.out, HasSubstr("sum, min, max, mean"));
  const json info = json::parse(Run("info --json").out);
  EXPECT_EQ(info["limits"]["max_message_bytes"], 64 << 20);
  EXPECT_EQ(info["dtypes"], json::array({"i32", "i64", "f32", "f64"}));
  EXPECT_THAT(Run("--version").out, StartsWith("warpfold "));
  EXPECT_EQ(Run("--help").exit_code, 0);
}

TEST_F(CliTest, InfoOfAServerOfAnotherNumericsVersionFails) {
  ExpectFailure("--numerics-version 7 info", 2, "7 is asked for, but " + server_.address());
  server_.service().info().set_numerics_version(7);
  EXPECT_EQ(Run("--numerics-version 7 info").exit_code, 0);
}

TEST_F(CliTest, DescribeHasARowPerTensorAndATotal) {
  const float values[] = {1, 2, 3, -4};
  const std::string data(reinterpret_cast<const char*>(values), sizeof(values));
  const auto file =
      WriteFile("m.safetensors",
                SafetensorsFile(R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                                R"("half":{"dtype":"F16","shape":[1],"data_offsets":[16,18]},)"
                                R"("e8":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[18,20]},)"
                                R"("none":{"dtype":"F32","shape":[0],"data_offsets":[20,20]}})",
                                data + "abcd"));
  const Outcome text = Run("describe " + file);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out,
              HasSubstr("w     (2, 2)  f32          4   -4    3   0.5  2.69258    0    0\n"));
  EXPECT_THAT(text.out, HasSubstr("this server does not reduce f16"));
  EXPECT_THAT(text.out, HasSubstr("this server does not reduce F8_E8M0"));
  EXPECT_THAT(text.out, HasSubstr("4 tensors, 16 B in"));
  EXPECT_EQ(text.err, "");  // no progress bar where there is no terminal

  const json report = json::parse(Run("describe --json " + file).out);
  ASSERT_EQ(report["tensors"].size(), 4u);
  EXPECT_EQ(report["tensors"][0]["sum"], 2.0);
  EXPECT_EQ(report["tensors"][0]["min"], -4.0);
  EXPECT_NEAR(report["tensors"][0]["std"].get<double>(), std::sqrt(7.25), 1e-6);
  EXPECT_TRUE(report["tensors"][1]["mean"].is_null());
  EXPECT_TRUE(report["tensors"][1]["nan_count"].is_null());
  EXPECT_EQ(report["tensors"][3]["nan_count"], 0);
  EXPECT_EQ(report["total"]["tensors"], 4);
}

TEST_F(CliTest, ProgressStaysInItsLineHoweverNarrow) {
  const auto file =
      WriteArray<float>("big.npy", v1::DTYPE_F32, {15 << 18}, std::vector<float>(15 << 18));
  server_.service().TakeOneMessageIn(std::chrono::milliseconds(120));
  const std::string out =
      RunOnTerminal("reduce " + file + " --op sum --server " + server_.address(), 45).out;
  const std::string wipe = "\r\x1b[K";
  int painted = 0;
  for (std::size_t at = out.find(wipe); at != std::string::npos;) {
    at += wipe.size();
    const std::size_t next = out.find(wipe, at);
    const std::string line = out.substr(at, next == std::string::npos ? next : next - at);
    if (line.starts_with("[")) {
      ++painted;
      EXPECT_LT(line.size(), 45u) << line;
    }
    at = next;
  }
  EXPECT_GE(painted, 1) << out;  // how often depends on what sockets buffer
}

TEST_F(CliTest, DescribeCountsNansAndInfinitiesInTheSamePass) {
  const float inf = INFINITY;
  const auto floats =
      WriteArray<float>("floats.npy", v1::DTYPE_F32, {6}, {1, NAN, inf, -inf, NAN, -inf});
  EXPECT_THAT(Run("describe " + floats).out,
              HasSubstr("floats  (6,)   f32        6  nan  nan   nan  nan    2    3  nan,inf\n"));
  EXPECT_EQ(server_.service().unary_calls(), 1);
  const json of_floats = json::parse(Run("describe --json " + floats).out)["tensors"][0];
  EXPECT_EQ(of_floats["nan_count"], 2);
  EXPECT_EQ(of_floats["inf_count"], 3);
  EXPECT_EQ(of_floats["min"], "NaN");

  const auto ints = WriteArray<std::int32_t>("ints.npy", v1::DTYPE_I32, {2}, {1, 2});
  const json of_ints = json::parse(Run("describe --json " + ints).out)["tensors"][0];
  EXPECT_EQ(of_ints["nan_count"], 0);
  EXPECT_EQ(of_ints["inf_count"], 0);
  const auto nothing = WriteArray<double>("nothing.npy", v1::DTYPE_F64, {0, 3}, {});
  const json of_nothing = json::parse(Run("describe --json " + nothing).out)["tensors"][0];
  EXPECT_EQ(of_nothing["nan_count"], 0);
  EXPECT_EQ(of_nothing["inf_count"], 0);
  EXPECT_TRUE(of_nothing["min"].is_null());
}

TEST_F(CliTest, DescribeAsksAnOlderServerForWhatItHas) {
  server_.service().info().mutable_ops()->RemoveLast();  // INF_COUNT
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, NAN});
  const json some = json::parse(Run("describe --json " + file).out)["tensors"][0];
  EXPECT_EQ(some["nan_count"], 1);
  EXPECT_TRUE(some["inf_count"].is_null());
  server_.service().info().mutable_ops()->RemoveLast();  // NAN_COUNT
  EXPECT_THAT(Run("describe " + file).out,
              HasSubstr("a     (2,)   f32        2  nan  nan   nan  nan    -    -  nan\n"));
}

TEST_F(CliTest, DescribeReadsNpyAndManyTensorsByManyJobs) {
  const auto npy = WriteArray<std::int32_t>("ints.npy", v1::DTYPE_I32, {3}, {1, 2, 6});
  const json one = json::parse(Run("describe --json " + npy).out);
  EXPECT_EQ(one["tensors"][0]["name"], "ints");
  EXPECT_EQ(one["tensors"][0]["mean"], 3.0);

  json header;
  std::vector<std::int32_t> values;
  for (int i = 0; i < 200; ++i) {
    header["t" + std::to_string(i)] = {
        {"dtype", "I32"}, {"shape", {2}}, {"data_offsets", {8 * i, 8 * i + 8}}};
    values.insert(values.end(), {i, -1});
  }
  const std::string data(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  const auto file = WriteFile("many.safetensors", SafetensorsFile(header.dump(), data));
  const json report = json::parse(Run("describe --json --jobs 8 " + file).out);
  ASSERT_EQ(report["tensors"].size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(report["tensors"][i]["max"], i);
}

TEST_F(CliTest, ASumThatDoesNotFitLeavesTheOtherAnswers) {
  const auto file = WriteArray<std::int64_t>("a.npy", v1::DTYPE_I64, {2}, {1, 3});
  server_.service().FailNext(1, {grpc::StatusCode::OUT_OF_RANGE, "the sum is 2^64", {}, {}});
  const json tensor = json::parse(Run("describe --json " + file).out)["tensors"][0];
  EXPECT_TRUE(tensor["sum"].is_null());
  EXPECT_EQ(tensor["mean"], 2.0);
  EXPECT_EQ(tensor["min"], 1);
  EXPECT_EQ(tensor["nan_count"], 0);
  EXPECT_EQ(tensor["note"], "no sum: the sum is 2^64");
  server_.service().FailNext(1, {grpc::StatusCode::OUT_OF_RANGE, "the sum is 2^64", {}, {}});
  ExpectFailure("reduce " + file + " --op sum", 2, "the sum is 2^64");
}

TEST_F(CliTest, BadCheckpointsAreExitCode2) {
  const auto fails = [&](const std::string& bytes, const std::string& problem) {
    ExpectFailure("describe " + WriteFile("bad.safetensors", bytes), 2,
                  "bad.safetensors: " + problem);
  };
  const auto with_offsets = [&](const std::string& offsets) {
    return SafetensorsFile(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + offsets + "}}",
                           "abcd");
  };
  fails("", "is empty");
  fails(SafetensorsFile(R"({"a":{"dty)", ""), "header: ");
  fails(with_offsets("[0,8]"), "tensor 'a': data_offsets [0, 8] are outside");
  fails(with_offsets("[0,2]"), "tensor 'a': data_offsets span 2 bytes");
  fails(std::string(8, '\xff') + "{}", "header: a length of 18446744073709551615");
  fails(SafetensorsFile("{\"\\u001b[2J\":{}}", ""), "tensor '\\x1b[2J'");
}

TEST_F(CliTest, AFailureInMidFileIsTheServersAndNamesTheTensor) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {1}, {1});
  server_.service().FailNext(1, {grpc::StatusCode::INTERNAL, "planned", {}, {}});
  ExpectFailure("describe " + file, 3, "tensor 'a': planned");
}

}  // namespace
}  // namespace warpfold::client
