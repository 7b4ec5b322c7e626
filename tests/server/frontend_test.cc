// The front end's calls while the device is held back: cancellation, deadlines, bounds, shutdown.
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

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
