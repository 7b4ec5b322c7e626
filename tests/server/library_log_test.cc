// What gRPC and protobuf log reaches the server's log, in its form and bounded.
#include "server/frontend/grpc/library_log.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/frontend/wire/grpc_compat.h"
#include "spdlog/sinks/ostream_sink.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {
namespace {

// The lines that `act` has logged, of at most `lines_per_s`.
template <typename Act>
std::vector<nlohmann::json> LinesOf(int lines_per_s, const Act& act) {
  std::ostringstream out;
  {
    Log log({.format = LogFormat::kJson}, std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
    const LibraryLog library_log(log, lines_per_s);
    act();
  }
  std::vector<nlohmann::json> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// As gRPC's own code does.
void LogAsGrpc(const char* text) {
#if WARPFOLD_GRPC_IS_NEWER_THAN_1_51
  grpc_absl_log("file.cc", 12, GPR_LOG_SEVERITY_ERROR, text);
#else
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // as it is once gRPC is in use
  gpr_log("file.cc", 12, GPR_LOG_SEVERITY_ERROR, "%s", text);
#endif
}

void LogOfGrpc() { LogAsGrpc("handshake \"failed\""); }

TEST(LibraryLogTest, LinesOfGrpcAreLinesOfTheServer) {
  const std::vector<nlohmann::json> lines = LinesOf(1, LogOfGrpc);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("level"), "warning");
  EXPECT_EQ(lines[0].at("text"), "handshake \"failed\"");
  EXPECT_EQ(lines[0].at("name"), "grpc");
  EXPECT_EQ(lines[0].at("source"), "file.cc:12");
}

TEST(LibraryLogTest, LinesOfProtobufAreLinesOfTheServer) {
  const std::vector<nlohmann::json> lines = LinesOf(1, [] {
    v1::ReduceRequest request;
    EXPECT_FALSE(request.ParseFromString("\x0a\x01\xff"));  // an id that is no UTF-8
  });
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("name"), "protobuf");
  EXPECT_NE(lines[0].at("text").get<std::string>().find("request_id"), std::string::npos);
}

// gRPC tells what a peer's headers have.
TEST(LibraryLogTest, APeerCannotForgeALine) {
  std::ostringstream out;
  {
    Log log({.format = LogFormat::kText}, std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
    const LibraryLog library_log(log);
    LogAsGrpc("value=x\n2026 error device lost\x1b[2J");
  }
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(LibraryLogTest, AboveTheRateLinesAreLeftOutAndCounted) {
  EXPECT_TRUE(LinesOf(0, LogOfGrpc).empty());
  // However the burst falls into seconds, one has far more than a line.
  constexpr int kBurst = 10'000;
  const std::vector<nlohmann::json> lines = LinesOf(1, [] {
    for (int i = 0; i < kBurst; ++i) LogOfGrpc();
  });
  ASSERT_FALSE(lines.empty());
  EXPECT_LT(lines.size(), kBurst / 10U);
}

TEST(LibraryLogTest, NothingIsWrittenToALogThatHasGone) {
  LinesOf(1, [] {});
  ::testing::internal::CaptureStderr();
  LogOfGrpc();  // by gRPC itself again
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("handshake"), std::string::npos);
}

}  // namespace
}  // namespace warpfold
