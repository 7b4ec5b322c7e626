// A request from its message to its answer without a server of gRPC: each ends with one Send,
// whatever happens to it.
#include "server/frontend/requests/reduction.h"

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "gtest/gtest.h"
#include "server/core/scheduling/scheduler.h"
#include "server/frontend/native/native_codec.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/contract/values_of.h"
#include "tests/server/fake_device.h"

namespace warpfold {
namespace {

class FakeReply final : public Reply {
 public:
  const Caller& caller() const override { return Everyone(); }
  std::chrono::steady_clock::time_point arrival() const override { return arrival_; }
  std::chrono::system_clock::time_point deadline() const override { return deadline_; }
  std::string PeerName() const override { return "ipv4:192.0.2.1:1"; }
  const ServerSpan* span() const override { return nullptr; }
  void StopReceiving() override { ++stops_; }
  void Send(const absl::Status& status, grpc::ByteBuffer& answer, AdmissionTicket held) override {
    status_ = status;
    answer_.Swap(&answer);
    held_ = std::move(held);
    sent_.Notify();  // fails a check when it comes twice
  }

  void SetDeadline(std::chrono::system_clock::time_point deadline) { deadline_ = deadline; }
  // Waits for the answer.
  const absl::Status& Await() {
    sent_.WaitForNotification();
    return status_;
  }
  bool is_sent() const { return sent_.HasBeenNotified(); }
  v1::ReduceResponse response() {
    v1::ReduceResponse response;
    grpc::ProtoBufferReader reader(&answer_);
    EXPECT_TRUE(response.ParseFromZeroCopyStream(&reader));
    return response;
  }
  AdmissionTicket& held() { return held_; }
  int stops() const { return stops_; }

 private:
  const std::chrono::steady_clock::time_point arrival_ = std::chrono::steady_clock::now();
  std::chrono::system_clock::time_point deadline_ = CancelToken::kNoDeadline;
  absl::Status status_;
  grpc::ByteBuffer answer_;
  AdmissionTicket held_;
  int stops_ = 0;
  absl::Notification sent_;
};

class ReductionTest : public ::testing::Test {
 protected:
  ReductionTest() {
    auto device = std::make_unique<FakeDevice>();
    device_ = device.get();
    devices_.push_back(std::move(device));
    scheduler_ = *Scheduler::Create(devices_, {.workers = 1});
    tensors_ = std::make_unique<TensorTable>(devices_, ResidentLimits());
    regions_ = std::make_unique<RegionTable>(devices_, RegionLimits());
    services_ = std::make_unique<Services>(Services{.limits = limits_,
                                                    .callers = callers_,
                                                    .security_warnings = warnings_,
                                                    .admission = admission_,
                                                    .scheduler = scheduler_->submitter(),
                                                    .tensors = *tensors_,
                                                    .regions = *regions_,
                                                    .watchdog = watchdog_,
                                                    .metrics = metrics_,
                                                    .access_log = access_log_,
                                                    .uploads = uploads_,
                                                    .drain_end = drain_end_,
                                                    .segment_bytes = 1 << 20});
  }

  std::unique_ptr<Reduction> Make(FakeReply& reply) {
    return std::make_unique<Reduction>(
        *services_, Method::kReduce, std::make_unique<NativeCodec>(NativeCodec::Of::kCall), reply);
  }

  // The sum of ones.
  static v1::ReduceRequest Ones(std::int64_t count) {
    v1::ReduceRequest request;
    request.set_request_id("an id");
    ValuesOf(request).mutable_tensor()->set_dtype(v1::DTYPE_I64);
    ValuesOf(request).mutable_tensor()->add_shape(count);
    request.add_ops()->set_op(v1::OP_SUM);
    for (std::int64_t i = 0; i < count; ++i) request.mutable_data()->append("\1\0\0\0\0\0\0\0", 8);
    return request;
  }
  static grpc::ByteBuffer MessageOf(const v1::ReduceRequest& request) {
    const grpc::Slice slice(request.SerializeAsString());
    return grpc::ByteBuffer(&slice, 1);
  }

  FakeDevice* device_ = nullptr;
  std::vector<std::unique_ptr<Executor>> devices_;
  InForce<Limits> limits_{Limits()};
  InForce<CallerTable> callers_{CallerTable()};
  InForce<std::vector<std::string>> warnings_{std::vector<std::string>()};
  AdmissionController admission_{{.max_requests_in_flight = 1}};
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<TensorTable> tensors_;
  std::unique_ptr<RegionTable> regions_;
  Watchdog watchdog_{std::chrono::milliseconds(0)};
  Metrics metrics_{{}};
  Log log_{{.level = LogLevel::kError}, std::make_shared<spdlog::sinks::null_sink_mt>()};
  AccessLog access_log_{log_, {}};
  UploadPlaces uploads_{1, 1 << 20};
  DrainEnd drain_end_;
  std::unique_ptr<Services> services_;
};

TEST_F(ReductionTest, IsAnsweredWithItsTicket) {
  FakeReply reply;
  const auto reduction = Make(reply);
  grpc::ByteBuffer message = MessageOf(Ones(10));
  reduction->Serve(&message);
  ASSERT_TRUE(reply.Await().ok()) << reply.Await();
  EXPECT_EQ(reply.response().request_id(), "an id");
  EXPECT_EQ(reply.response().results(0).data(), std::string("\12\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(reply.stops(), 1) << "no more of it is wanted";
  // Its place is whoever has the ticket's to give back.
  EXPECT_EQ(admission_.state().requests_in_flight, 1);
  reply.held().Release();
  EXPECT_EQ(admission_.state().requests_in_flight, 0);
  EXPECT_EQ(admission_.state().bytes_in_flight, 0);
}

TEST_F(ReductionTest, WhatIsWrongIsRefusedWithoutATicket) {
  v1::ReduceRequest short_of_a_byte = Ones(10);
  short_of_a_byte.mutable_data()->pop_back();
  v1::ReduceRequest no_op = Ones(10);
  no_op.clear_ops();
  for (const auto& [request, field] :
       {std::pair(short_of_a_byte, "data: has 79 bytes"), std::pair(no_op, "ops: ")}) {
    FakeReply reply;
    const auto reduction = Make(reply);
    grpc::ByteBuffer message = MessageOf(request);
    reduction->Serve(&message);
    EXPECT_EQ(reply.Await().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(reply.Await().message().rfind(field, 0), 0U) << reply.Await();
    EXPECT_TRUE(reply.held().is_empty());
  }
  EXPECT_EQ(admission_.state().requests_in_flight, 0);
}

TEST_F(ReductionTest, OneThatHasNoPlaceIsRefusedAndTakesNobodyElses) {
  FakeReply first_reply;
  const auto first = Make(first_reply);
  grpc::ByteBuffer message = MessageOf(Ones(1));
  first->Serve(&message);
  ASSERT_TRUE(first_reply.Await().ok());  // and holds its ticket

  FakeReply reply;
  const auto reduction = Make(reply);
  message = MessageOf(Ones(1));
  reduction->Serve(&message);
  EXPECT_EQ(reply.Await().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(reply.held().is_empty());
  EXPECT_EQ(admission_.state().requests_in_flight, 1);
}

TEST_F(ReductionTest, OneThatIsCancelledBeforeItStartsNeverRuns) {
  FakeReply reply;
  const auto reduction = Make(reply);
  grpc::ByteBuffer message = MessageOf(Ones(10));
  ASSERT_TRUE(reduction->Take(&message).ok());
  reduction->Cancel();
  EXPECT_FALSE(reply.is_sent()) << "it is not the scheduler's yet: whoever starts it hears why not";
  const absl::Status started = reduction->Start();
  if (!started.ok()) reduction->Refuse(started);
  EXPECT_EQ(reply.Await().code(), absl::StatusCode::kCancelled) << reply.Await();
}

TEST_F(ReductionTest, OneWhoseDeadlineHasPassedIsRefused) {
  FakeReply reply;
  reply.SetDeadline(std::chrono::system_clock::now() - std::chrono::hours(1));
  const auto reduction = Make(reply);
  grpc::ByteBuffer message = MessageOf(Ones(10));
  reduction->Serve(&message);
  EXPECT_EQ(reply.Await().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(admission_.state().bytes_in_flight, reply.held().bytes());
}

TEST_F(ReductionTest, ACancellationAfterTheAnswerChangesNothing) {
  FakeReply reply;
  const auto reduction = Make(reply);
  grpc::ByteBuffer message = MessageOf(Ones(10));
  reduction->Serve(&message);
  ASSERT_TRUE(reply.Await().ok());
  reduction->Cancel();
  EXPECT_TRUE(reply.Await().ok());
}

}  // namespace
}  // namespace warpfold
