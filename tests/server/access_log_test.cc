#include "server/observe/log/access_log.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "spdlog/sinks/ostream_sink.h"

namespace warpfold {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class AccessLogTest : public ::testing::Test {
 protected:
  void Make(const AccessLogOptions& options, LogLevel level = LogLevel::kInfo) {
    log_ = std::make_unique<Log>(LogOptions{.level = level, .format = LogFormat::kJson},
                                 std::make_shared<spdlog::sinks::ostream_sink_mt>(out_));
    access_log_ = std::make_unique<AccessLog>(*log_, options);
  }
  // How many of `asked` requests that ended so get a line.
  int Taken(int asked, StatusCode code, nanoseconds total = nanoseconds(1)) {
    int taken = 0;
    for (int i = 0; i < asked; ++i) taken += access_log_->Takes(code, total) ? 1 : 0;
    return taken;
  }
  // The one line that was written.
  nlohmann::json Line() {
    log_ = nullptr;
    return nlohmann::json::parse(out_.str());
  }

  std::ostringstream out_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<AccessLog> access_log_;
};

// The loops take far less than a second, but may lie across its end: then twice as many pass.
TEST_F(AccessLogTest, FastSuccessesAreSampledSlowOnesAreNot) {
  Make({.fast_per_s = 5, .slow = milliseconds(10)});
  const int fast = Taken(1000, StatusCode::kOk, milliseconds(9));
  EXPECT_TRUE(fast == 5 || fast == 10) << fast;
  EXPECT_EQ(Taken(1000, StatusCode::kOk, milliseconds(10)), 1000);
}

TEST_F(AccessLogTest, FailuresAreBoundedByThemselves) {
  Make({.fast_per_s = 0, .failed_per_s = 7});
  EXPECT_EQ(Taken(100, StatusCode::kOk), 0);
  const int failed = Taken(1000, StatusCode::kInvalidArgument);
  EXPECT_TRUE(failed == 7 || failed == 14) << failed;
}

TEST_F(AccessLogTest, BytesThatAreNoMessageAreBoundedBesideOtherFailures) {
  Make({.failed_per_s = 7, .malformed_per_s = 3});
  int malformed = 0;
  for (int i = 0; i < 1000; ++i) {
    malformed +=
        access_log_->Takes(StatusCode::kInvalidArgument, nanoseconds(1), /*malformed=*/true) ? 1
                                                                                             : 0;
  }
  EXPECT_TRUE(malformed == 3 || malformed == 6) << malformed;
  const int failed = Taken(1000, StatusCode::kInvalidArgument);
  EXPECT_TRUE(failed == 7 || failed == 14) << "malformed ones used up others' lines: " << failed;
}

TEST_F(AccessLogTest, OptionsAndLevelChangeWhileItRuns) {
  Make({.fast_per_s = 0});
  EXPECT_EQ(Taken(10, StatusCode::kOk), 0);
  access_log_->SetOptions({.fast_per_s = 1 << 20});
  EXPECT_EQ(Taken(10, StatusCode::kOk), 10);
  log_->SetLevel(LogLevel::kError);
  EXPECT_EQ(Taken(10, StatusCode::kOk), 0);
  EXPECT_EQ(Taken(10, StatusCode::kInvalidArgument), 0);
  EXPECT_EQ(Taken(10, StatusCode::kInternal), 10);
}

TEST_F(AccessLogTest, AnIdThatWasRefusedForItsSizeIsNotWrittenWhole) {
  Make({});
  access_log_->Write({.record = {.code = StatusCode::kInvalidArgument},
                      .request_id = std::string(1 << 20, '\x01'),
                      .peer = {.address = "peer"},
                      .status = absl::InvalidArgumentError("request_id: too long")});
  EXPECT_EQ(Line().at("request_id").get<std::string>().size(), 256U);
}

TEST_F(AccessLogTest, ACallIsAboutATensorOrARegionOfSomebodys) {
  Make({});
  const Subject subject{.tensor_id = "t1", .region = std::string(1 << 20, 'r'), .owner = "trainer"};
  access_log_->Write({.record = {.method = Method::kDeleteTensor},
                      .peer = {.address = "peer", .caller = "chief"},
                      .subject = &subject,
                      .status = absl::OkStatus()});
  const nlohmann::json line = Line();
  EXPECT_EQ(line.at("tensor_id"), "t1");
  EXPECT_EQ(line.at("region").get<std::string>().size(), 256U);
  EXPECT_EQ(line.at("owner"), "trainer");
  EXPECT_EQ(line.at("caller"), "chief");
}

TEST_F(AccessLogTest, ALineSaysWhoAskedForWhatAndWhereTheTimeWent) {
  Make({});
  const Plan plan = *MakePlan(
      {.dtype = DType::kF64, .shape = {3, 4}, .ops = {Op::kSum, Op::kL1Norm}, .axes = {0}});
  RequestRecord record{.method = Method::kReduceStream, .plan = &plan, .total = nanoseconds(21)};
  for (std::size_t s = 0; s < kStageCount; ++s) {
    record.stages[s] = nanoseconds(static_cast<int>(s) + 1);
  }
  const std::vector<std::int64_t> shape = {3, 4};
  access_log_->Write({.record = record,
                      .request_id = "id \"7\"",
                      .peer = {.address = "ipv4:10.0.0.1:5", .caller = "trainer"},
                      .shape = shape,
                      .status = absl::OkStatus()});
  nlohmann::json line = Line();
  line.erase("time");
  EXPECT_EQ(line, nlohmann::json::parse(R"({
      "level": "info", "message": "access", "method": "ReduceStream", "code": "OK",
      "request_id": "id \"7\"", "peer": "ipv4:10.0.0.1:5",
      "caller": "trainer", "ops": "sum,l1_norm", "dtype": "f64",
      "shape": "[3,4]", "bytes": 96, "total_ns": 21, "receive_ns": 1, "queue_ns": 2,
      "host_to_device_ns": 3, "kernel_ns": 4, "device_to_host_ns": 5, "reply_ns": 6,
      "status": ""})"));
}

TEST_F(AccessLogTest, ARequestThatWasNotUnderstoodHasALineWithItsReason) {
  Make({});
  access_log_->Write({.record = {.code = StatusCode::kInvalidArgument},
                      .request_id = "7",
                      .peer = {.address = "ipv4:10.0.0.1:5"},
                      .status = absl::InvalidArgumentError("ops: none")});
  const nlohmann::json line = Line();
  EXPECT_EQ(line.at("code"), "InvalidArgument");
  EXPECT_EQ(line.at("status"), "ops: none");
  EXPECT_EQ(line.at("caller"), "");
  EXPECT_FALSE(line.contains("dtype"));
  EXPECT_FALSE(line.contains("tensor_id"));
  EXPECT_FALSE(line.contains("trace_id")) << "of a caller who traces nothing";
}

TEST_F(AccessLogTest, ALineOfATracedCallHasItsTraceAndTheServersSpan) {
  for (const bool has_plan : {false, true}) {
    out_.str("");
    Make({});
    const Plan plan = *MakePlan({.dtype = DType::kI8, .shape = {1}, .ops = {Op::kSum}});
    const ServerSpan span{.context = {.trace_id = {0x0a, 0xff}, .span_id = {0, 0, 7}}};
    access_log_->Write({.record = {.plan = has_plan ? &plan : nullptr},
                        .peer = {.address = "peer", .span = &span},
                        .shape = plan.shape,
                        .status = absl::OkStatus()});
    const nlohmann::json line = Line();
    EXPECT_EQ(line.at("trace_id"), "0aff0000000000000000000000000000");
    EXPECT_EQ(line.at("span_id"), "0000070000000000");
    EXPECT_EQ(line.contains("dtype"), has_plan);
  }
}

}  // namespace
}  // namespace warpfold
