// `warpfold bench` against the fake service; the paths that it lacks are tests/e2e/load_test.cc's.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cpp/cli/bench_report.h"
#include "tests/client/cli_fixture.h"

namespace warpfold::client {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class BenchCliTest : public CliTest {
 protected:
  static constexpr char kTen[] = "bench --warmup 0 --duration 0 --requests-min 10 ";
};

TEST_F(BenchCliTest, JsonHasTheLoadAndWhatItCameTo) {
  const Outcome outcome = RunAt("", std::string(kTen) + "--json --target " + server_.address() +
                                        " --method stream --size 8KiB --dtype f64 --op sum,max "
                                        "--clients 3");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << "no progress without a terminal";
  const json out = json::parse(outcome.out);
  EXPECT_EQ(out["target"], server_.address());
  EXPECT_EQ(out["device"], "fake");
  EXPECT_EQ(out["method"], "stream");
  EXPECT_EQ(out["dtype"], "f64");
  EXPECT_EQ(out["bytes"], 8192);
  EXPECT_THAT(out["ops"], ElementsAre("sum", "max"));
  EXPECT_EQ(out["clients"], 3);
  EXPECT_TRUE(out["rate"].is_null());
  EXPECT_EQ(out["requests"], 30);
  EXPECT_EQ(out["failures"], json::object());
  const double rps = out["rps"];
  EXPECT_NEAR(rps, 30 / out["seconds"].get<double>(), 1e-6 * rps);
  EXPECT_NEAR(out["gb_per_second"].get<double>(), rps * 8192 / 1e9, 1e-6 * rps);
  double last = 0;
  for (const char* key : {"p50_us", "p90_us", "p99_us", "p999_us", "max_us"}) {
    EXPECT_GE(out[key].get<double>(), last) << key;
    last = out[key];
  }
  double us = 0;  // fake_service.cc: 1, 2, ... 6
  for (const char* stage :
       {"receive", "queue", "host_to_device", "kernel", "device_to_host", "total"}) {
    EXPECT_EQ(out["server_p50_us"][stage].get<double>(), ++us) << stage;
  }
  EXPECT_EQ(server_.service().stream_calls(), 33);
}

TEST_F(BenchCliTest, TextIsForPeople) {
  server_.service().FailNext(2, {grpc::StatusCode::RESOURCE_EXHAUSTED, "planned", 1, {}}, 3);
  const Outcome outcome = Run(std::string(kTen) + "--rate 100000");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("unary, 4.00 KiB of f32, sum, 1 client, 100000 requests/s"));
  EXPECT_THAT(outcome.out, HasSubstr("8 in "));
  EXPECT_THAT(outcome.out, HasSubstr("p99.9 "));
  EXPECT_THAT(outcome.out, HasSubstr("2 RESOURCE_EXHAUSTED"));
}

TEST_F(BenchCliTest, WhatCannotBeMeasuredIsSaid) {
  ExpectFailure("bench --op sum,frobnicate", 2, "frobnicate");
  ExpectFailure("bench --dtype f32 --size 5", 2, "--size: 5 bytes are not whole elements of f32");
  ExpectFailure("bench --method smoke", 2, "--method");
  ExpectFailure("bench --duration 0 --op prod", 2, "ops: not in this server");
  ExpectFailure("bench --size 0", 2, "--size: 0 is not positive\n");
  server_.Stop();
  ExpectFailure("bench --timeout 1", 3, server_.address());
}

TEST_F(BenchCliTest, GivingUpPrintsTheFiguresThereAre) {
  const auto dies_after = [this](int answers) {
    server_.service().FailNext(1'000'000, {grpc::StatusCode::UNAVAILABLE, "planned", {}, {}},
                               answers);
  };
  const std::string bench = "bench --warmup 0 --duration 3600 ";
  dies_after(6);  // the answer of the warm-up and five more
  const Outcome text = Run(bench + "--give-up-after 0.2");
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_THAT(text.err, HasSubstr("warpfold: gave up: no answer any longer, after 5 answers and "));
  EXPECT_THAT(text.out, testing::ContainsRegex("requests +5 in "));
  EXPECT_THAT(text.out, HasSubstr("UNAVAILABLE"));
  dies_after(6);
  const Outcome outcome = Run(bench + "--give-up-after 0 --json");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("after 5 answers and 1 failures of a client; the last: "));
  const json out = json::parse(outcome.out);
  EXPECT_EQ(out["requests"], 5);
  EXPECT_THAT(out["lost"].get<std::string>(), testing::StartsWith("gave up: "));
  dies_after(1);
  ExpectFailure(bench + "--give-up-after 0", 3, "gave up: no answer any longer, after 0 answers");
}

// The kernel accepts the connection of a server that is stopped, and nobody says a word on it.
TEST_F(BenchCliTest, GivingUpIsOfConnectingToo) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 16), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string target = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  for (const char* method : {"unary", "infer"}) {
    ExpectFailure(absl::StrCat("bench --give-up-after 0 --target ", target, " --method ", method),
                  3, absl::StrCat("warpfold: gave up: ", target, " did not answer within 1 s\n"));
  }
  close(fd);
}

TEST_F(BenchCliTest, AServerThatIsLostBeforeTheEndIsExitCode3WithTheFiguresBeforeIt) {
  const auto dies = [this] {  // after the answer of the warm-up and five more
    server_.service().FailNext(1'000'000, {grpc::StatusCode::UNAVAILABLE, "planned", {}, {}}, 6);
  };
  const std::string bench = "bench --warmup 0 --duration 1.5 ";
  dies();
  const Outcome text = Run(bench);
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_THAT(text.err, testing::MatchesRegex("warpfold: nobody answered for the last [0-9.]+ of "
                                              "[0-9.]+ s: .*planned\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("requests +5 in "));
  EXPECT_THAT(text.out, HasSubstr("UNAVAILABLE"));
  dies();
  const Outcome outcome = Run(bench + "--json --clients 1");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  const json out = json::parse(outcome.out);
  EXPECT_EQ(out["requests"], 5);
  EXPECT_THAT(out["lost"].get<std::string>(), testing::StartsWith("nobody answered for the last "));
  server_.service().FailNext(0, {});
  EXPECT_EQ(json::parse(Run(std::string(kTen) + "--json").out)["lost"], json());
}

TEST_F(BenchCliTest, TheTimeoutIsOfSilenceOnAStreamOfManyRequests) {
  server_.service().TakeOneMessageIn(std::chrono::milliseconds(1));
  const std::string many = "bench --method many --size 4000 --window 4 --warmup 0 --duration 0 ";
  // So many answers take longer than the timeout.
  EXPECT_EQ(Run("--timeout 0.5 " + many + "--requests-min 1000").exit_code, 0);
  server_.service().Hang();
  ExpectFailure("--timeout 0.2 " + many, 3, "no progress for 200 ms; --timeout sets another limit");
}

TEST(BenchProgressTest, TheLineHasBarRatesAndFailures) {
  BenchFlags flags;
  flags.duration_s = 10;
  const std::string line = BenchProgressLine(flags, 100'000, 0, std::chrono::duration<double>(5));
  EXPECT_EQ(line, "[============>           ]  50%  20000 requests/s  0.0819 GB/s");
  EXPECT_THAT(BenchProgressLine(flags, 1, 7, std::chrono::duration<double>(20)),
              HasSubstr("100%  0.05 requests/s  0.0000 GB/s  7 failed"));
}

}  // namespace
}  // namespace warpfold::client
