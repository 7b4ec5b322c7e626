// The front end over a real gRPC server in this process, with a device that the test holds back.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/frontend/grpc_server.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/server/gated_device.h"
#include "warpfold/v1/reduction.grpc.pb.h"

namespace warpfold {
namespace {

class FrontendTest : public testing::Test {
 protected:
  // One lane, three requests in flight; the queue has room for all of them.
  void SetUp() override {
    auto device = std::make_unique<GatedDevice>();
    device_ = device.get();
    devices_.push_back(std::move(device));
    scheduler_ = *Scheduler::Create(devices_, {.lanes = 1, .queue_depth_max = 3});
    options_.listen_address = "127.0.0.1:0";
    options_.version = "test";
    options_.limits.stream_idle_timeout = std::chrono::milliseconds(60000);
    auto server = GrpcServer::Start(options_, admission_, *scheduler_, metrics_, access_log_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(server_->port()),
                                   grpc::InsecureChannelCredentials());
    stub_ = v1::ReductionService::NewStub(channel_);
  }

  void TearDown() override {
    device_->Open();
    server_ = nullptr;
    EXPECT_EQ(admission_.state().requests_in_flight, 0);
    EXPECT_EQ(admission_.state().bytes_in_flight, 0);
  }

  static v1::ReduceRequest Request(std::int64_t count = 1) {
    v1::ReduceRequest request;
    request.mutable_tensor()->set_dtype(v1::DTYPE_I64);
    request.mutable_tensor()->add_shape(count);
    request.add_ops(v1::OP_SUM);
    request.set_data(std::string(static_cast<std::size_t>(count) * 8, '\1'));
    return request;
  }

  // Waits until `count` requests are admitted.
  void AwaitInFlight(std::int64_t count) {
    while (admission_.state().requests_in_flight != count) std::this_thread::yield();
  }

  std::vector<std::unique_ptr<Executor>> devices_;
  GatedDevice* device_ = nullptr;
  AdmissionController admission_{{.max_requests_in_flight = 3}};
  Metrics metrics_{{}};
  Log log_{{.level = LogLevel::kError}, std::make_shared<spdlog::sinks::null_sink_mt>()};
  AccessLog access_log_{log_, {}};
  std::unique_ptr<Scheduler> scheduler_;
  GrpcServerOptions options_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ReductionService::Stub> stub_;
};

struct Call {
  grpc::ClientContext context;
  v1::ReduceRequest request;
  v1::ReduceResponse response;
  grpc::Status status;
  absl::Notification done;
};

TEST_F(FrontendTest, QueuedCallsThatAreCancelledGiveTheirPlacesBackAtOnce) {
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>());
    Call& call = *calls.back();
    call.request = Request();
    stub_->async()->Reduce(&call.context, &call.request, &call.response, [&call](grpc::Status s) {
      call.status = std::move(s);
      call.done.Notify();
    });
    AwaitInFlight(i + 1);
    if (i == 0) device_->AwaitBegun();
  }
  Call refused;
  refused.request = Request();
  refused.status = stub_->Reduce(&refused.context, refused.request, &refused.response);
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_FALSE(refused.status.error_details().empty());

  calls[1]->context.TryCancel();
  calls[2]->context.TryCancel();
  AwaitInFlight(1);  // while the lane is still held back
  EXPECT_EQ(scheduler_->state().queued, 0);
  device_->Open();
  for (const auto& call : calls) call->done.WaitForNotification();
  EXPECT_TRUE(calls[0]->status.ok()) << calls[0]->status.error_message();
  EXPECT_EQ(calls[1]->status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(calls[0]->response.device(), "gated");
}

TEST_F(FrontendTest, ADeadlineReachesACallInTheQueue) {
  Call first;
  first.request = Request();
  stub_->async()->Reduce(&first.context, &first.request, &first.response,
                         [&first](const grpc::Status&) { first.done.Notify(); });
  device_->AwaitBegun();
  Call second;
  second.context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  second.request = Request();
  second.status = stub_->Reduce(&second.context, second.request, &second.response);
  EXPECT_EQ(second.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  AwaitInFlight(1);
  device_->Open();
  first.done.WaitForNotification();
}

TEST_F(FrontendTest, NoReactionWaitsForABusyDevice) {
  Call first;
  first.request = Request();
  stub_->async()->Reduce(&first.context, &first.request, &first.response,
                         [&first](const grpc::Status&) { first.done.Notify(); });
  device_->AwaitBegun();
  // More calls than gRPC has callback threads are held up; others are still answered.
  for (int i = 0; i < 50; ++i) {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
    EXPECT_EQ(info.version(), "test");
  }
  EXPECT_FALSE(first.done.HasBeenNotified());
  device_->Open();
  first.done.WaitForNotification();
}

TEST_F(FrontendTest, AManyStreamCancelledWithItemsQueuedAndRunningEndsCleanly) {
  grpc::ClientContext context;
  const auto stream = stub_->ReduceMany(&context);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(Request()));
  AwaitInFlight(3);
  device_->AwaitBegun();
  context.TryCancel();
  AwaitInFlight(1);  // the queued two are gone; the running one cannot be until its lane moves
  device_->Open();
  AwaitInFlight(0);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(FrontendTest, AManyStreamHoldsABoundedNumberOfItems) {
  grpc::ClientContext context;
  const auto stream = stub_->ReduceMany(&context);
  std::jthread writer([&stream] {
    for (int i = 0; i < 500; ++i) {
      if (!stream->Write(Request(128))) break;
    }
    stream->WritesDone();
  });
  AwaitInFlight(3);  // one runs, two wait; further ones are answered with a refusal
  device_->Open();
  int answers = 0;
  v1::ReduceManyResponse answer;
  while (stream->Read(&answer)) ++answers;
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(answers, 500);
}

TEST_F(FrontendTest, ShutdownCancelsWhatOutlastsTheGrace) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = stub_->ReduceStream(&context, &response);
  v1::ReduceStreamRequest header;
  *header.mutable_header() = Request(2);
  header.mutable_header()->clear_data();
  ASSERT_TRUE(writer->Write(header));
  AwaitInFlight(1);
  device_->Open();
  server_->StopServing();
  server_->Shutdown(std::chrono::milliseconds(10));
  EXPECT_FALSE(writer->Finish().ok());
}

}  // namespace
}  // namespace warpfold
