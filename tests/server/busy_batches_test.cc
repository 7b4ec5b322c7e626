// Calls whose batches do not end hold no thread of gRPC, of which there are few.
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "grpcpp/generic/generic_stub.h"
#include "tests/server/fake_device.h"
#include "tests/server/frontend_fixture.h"

namespace warpfold {
namespace {

class BusyBatchesTest : public FrontendFixture {
 protected:
  void SetUp() override {
    auto device = std::make_unique<FakeDevice>();
    batches_ = &device->fake_batches();
    batches_->BatchUpTo(1 << 20, {.tensors = 2, .bytes = 1 << 20});
    batches_->Hold(&gate_);
    admission_.SetLimits(64, 1 << 20);
    Serve(std::move(device), {.workers = 1, .queue_depth_max = 64});
  }
  void TearDown() override {
    if (!gate_.HasBeenNotified()) gate_.Notify();
    for (Call& call : calls_) call.done.WaitForNotification();
    FrontendFixture::TearDown();
  }

  void Reduce(int calls) {
    for (int i = 0; i < calls; ++i) {
      Call& call = calls_.emplace_back();
      call.request = Request();
      stub_->async()->Reduce(&call.context, &call.request, &call.response, call.Ending());
    }
  }
  // grpc.health.v1.Health/Check of the server as a whole.
  grpc::Status CheckHealth() {
    grpc::ClientContext context;
    const grpc::Slice empty;
    const grpc::ByteBuffer request(&empty, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    absl::Notification done;
    grpc::GenericStub(channel_).UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request,
                                          &response, [&](grpc::Status s) {
                                            status = std::move(s);
                                            done.Notify();
                                          });
    done.WaitForNotification();
    return status;
  }

  FakeBatches* batches_ = nullptr;
  absl::Notification gate_;
  std::deque<Call> calls_;
};

TEST_F(BusyBatchesTest, OtherCallsAreAnswered) {
  Reduce(16);
  batches_->Await(kBatchWorkers);
  AwaitInFlight(16);
  for (int i = 0; i < 50; ++i) {
    const grpc::Status info = GetServerInfo();
    ASSERT_TRUE(info.ok()) << info.error_message();
    const grpc::Status status = CheckHealth();
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  for (const Call& call : calls_) EXPECT_FALSE(call.done.HasBeenNotified());
  gate_.Notify();
  for (Call& call : calls_) {
    call.done.WaitForNotification();
    EXPECT_TRUE(call.status.ok()) << call.status.error_message();
  }
}

}  // namespace
}  // namespace warpfold
