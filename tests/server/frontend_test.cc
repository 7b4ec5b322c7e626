// The front end's calls while the device is held back: cancellation, deadlines, bounds, shutdown.
#include <atomic>
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
    stub_->async()->Reduce(&call.context, &call.request, &call.response, call.Ending());
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
  AwaitInFlight(1);  // while the worker is still held back
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
  AwaitInFlight(1);  // the queued two are gone; the running one cannot be until its worker moves
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

// One runs, the others wait for its worker.
TEST_F(FrontendTest, AQueuedStreamThatIsCancelledFreesItsPlaceAtOnce) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::ReduceStreamRequest>>> writers;
  for (int i = 0; i < 2; ++i) {
    calls.push_back(std::make_unique<Call>());
    writers.push_back(stub_->ReduceStream(&calls.back()->context, &calls.back()->response));
    ASSERT_TRUE(writers.back()->Write(Header()));
    ASSERT_TRUE(writers.back()->Write(Chunk(Request().data())));
    ASSERT_TRUE(writers.back()->WritesDone());
    AwaitInFlight(i + 1);
  }
  device_->AwaitBegun();
  // It is admitted a moment before it is in the queue.
  while (scheduler_->state().queued != 1) std::this_thread::yield();
  calls[1]->context.TryCancel();
  EXPECT_EQ(writers[1]->Finish().error_code(), grpc::StatusCode::CANCELLED);
  AwaitInFlight(1);
  device_->Open();
  EXPECT_TRUE(writers[0]->Finish().ok());
}

class UploadPlacesCallTest : public FrontendFixture {
 protected:
  void SetUp() override {
    options_.limits.max_bytes_in_flight = 1;  // one place
    options_.limits.queue_timeout = std::chrono::milliseconds(1);
    auto device = std::make_unique<GatedDevice>();
    device->Open();
    Serve(std::move(device), {.workers = 1, .queue_depth_max = 3});
  }
  void WaitForAPlaceWithoutEnd() {
    options_.limits.queue_timeout = std::chrono::milliseconds(60'000);
    server_->SetLimits(options_.limits);
  }
  // Beside one that keeps sending.
  void TryASecondStream(bool& is_refused);
};

// The first one's client keeps sending: it has the place. Where it does not come to that for 100
// ms, on a busy machine, the second has the place instead, and they begin anew.
TEST_F(UploadPlacesCallTest, AStreamThatWaitsTooLongForAPlaceIsRefused) {
  bool is_refused = false;
  for (int attempt = 0; attempt < 20 && !is_refused && !HasFailure(); ++attempt) {
    TryASecondStream(is_refused);
  }
  EXPECT_TRUE(is_refused);
}

void UploadPlacesCallTest::TryASecondStream(bool& is_refused) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = stub_->ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(1 << 20)));
  while (admission_.state().requests_expected == 0) std::this_thread::yield();
  std::atomic<bool> is_over{false};
  std::jthread sender([&] {
    while (!is_over && writer->Write(Chunk("x"))) std::this_thread::yield();
  });
  grpc::ClientContext second;
  second.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  v1::ReduceResponse none;
  const auto waits = stub_->ReduceStream(&second, &none);
  waits->Write(Header(1 << 20));
  const grpc::Status status = waits->Finish();
  is_over = true;
  is_refused = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  if (is_refused) {
    EXPECT_EQ(status.error_message(),
              "the request waited its turn for longer than 1 ms (--queue-timeout-ms)");
    EXPECT_EQ(admission_.state().requests_expected, 1) << "who has the answer is open no more";
  } else {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  context.TryCancel();
  sender.join();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

class OnePlaceTest : public FrontendTest {
 protected:
  OnePlaceTest() { options_.limits.max_bytes_in_flight = 1; }

  // Two whole streams, of which the first is at the device, and the second waits for its place.
  void SendTwo() {
    for (int i = 0; i < 2; ++i) {
      calls_.push_back(std::make_unique<Call>());
      writers_.push_back(stub_->ReduceStream(&calls_.back()->context, &calls_.back()->response));
      ASSERT_TRUE(writers_.back()->Write(Header()));
      ASSERT_TRUE(writers_.back()->Write(Chunk(Request().data())));
      ASSERT_TRUE(writers_.back()->WritesDone());
      if (i == 0) device_->AwaitBegun();
    }
    while (admission_.state().requests_expected != 1) std::this_thread::yield();
  }

  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::ReduceStreamRequest>>> writers_;
};

// The device is held back, and with it the place of a stream that is all here.
TEST_F(OnePlaceTest, TheWaitForAPlaceIsTimeInTheQueue) {
  ASSERT_NO_FATAL_FAILURE(SendTwo());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(GetServerInfo().ok());
  EXPECT_EQ(admission_.state().requests_in_flight, 1);
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begin;
  device_->Open();
  for (const auto& writer : writers_) EXPECT_TRUE(writer->Finish().ok());
  EXPECT_GE(calls_[1]->response.timing().queue_ns(), waited.count());
}

// Each of its waits is shorter than the limit, or was when it began.
TEST_F(OnePlaceTest, TheWaitForAPlaceCountsAgainstTheQueuesLimit) {
  ASSERT_NO_FATAL_FAILURE(SendTwo());
  const std::chrono::milliseconds limit(100);
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin <= limit) ASSERT_TRUE(GetServerInfo().ok());
  options_.limits.queue_timeout = limit;
  server_->SetLimits(options_.limits);
  device_->Open();
  EXPECT_TRUE(writers_[0]->Finish().ok());
  const grpc::Status status = writers_[1]->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(),
            "the request waited its turn for longer than 100 ms (--queue-timeout-ms)");
}

// Its client is silent: the place goes to the next, which needs no other.
TEST_F(UploadPlacesCallTest, ASilentStreamLosesItsPlaceAndNotItsCall) {
  WaitForAPlaceWithoutEnd();
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::ReduceStreamRequest>>> writers;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>());
    writers.push_back(stub_->ReduceStream(&calls.back()->context, &calls.back()->response));
    ASSERT_TRUE(writers.back()->Write(Header()));
    while (admission_.state().requests_expected != i + 1) std::this_thread::yield();
  }
  for (const int i : {2, 0, 1}) {
    ASSERT_TRUE(writers[i]->Write(Chunk(Request().data())));
    ASSERT_TRUE(writers[i]->WritesDone());
    EXPECT_TRUE(writers[i]->Finish().ok());
  }
}

// Cancelled while they wait for a place, in any state.
TEST_F(UploadPlacesCallTest, StreamsThatAreCancelledWhileTheyWaitLeaveNothing) {
  WaitForAPlaceWithoutEnd();
  for (int round = 0; round < 50; ++round) {
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<std::unique_ptr<grpc::ClientWriter<v1::ReduceStreamRequest>>> writers;
    for (int i = 0; i < 4; ++i) {
      calls.push_back(std::make_unique<Call>());
      writers.push_back(stub_->ReduceStream(&calls.back()->context, &calls.back()->response));
      writers.back()->Write(Header());
      if (round % 3 == i % 3) calls.back()->context.TryCancel();
    }
    for (const auto& call : calls) call->context.TryCancel();
    for (const auto& writer : writers) {
      EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
    }
    while (admission_.state().requests_expected != 0) std::this_thread::yield();
  }
}

TEST_F(FrontendTest, ShutdownCancelsWhatOutlastsTheGrace) {
  grpc::ClientContext context;
  v1::ReduceResponse response;
  const auto writer = stub_->ReduceStream(&context, &response);
  ASSERT_TRUE(writer->Write(Header(2)));
  ASSERT_TRUE(writer->Write(Chunk("12345678")));
  while (admission_.state().bytes_in_flight != 8) std::this_thread::yield();
  EXPECT_EQ(admission_.state().requests_in_flight, 0) << "half of it is missing";
  device_->Open();
  server_->StopServing();
  server_->Shutdown(std::chrono::milliseconds(10));
  EXPECT_FALSE(writer->Finish().ok());
}

}  // namespace
}  // namespace warpfold
