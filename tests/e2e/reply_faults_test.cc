// Clients that go in the middle of their answer: one larger than a connection's windows, which they
// never read.
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/channel.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

constexpr std::int64_t kResults = 4 << 20;  // of f32: 16 MiB

// The maxima over an axis of one, which are the tensor itself.
grpc::ByteBuffer LargeAnswerRequest() {
  v1::ReduceRequest request = F32Request({1, kResults}, v1::OP_MAX);
  request.add_axes(0);
  request.set_data(F32Ones(kResults).data());
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// A Reduce that asks and does not read.
class DeafCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit DeafCall(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}

  void Start() {
    stub_.PrepareBidiStreamingCall(&context_, "/warpfold.v1.ReductionService/Reduce", {}, this);
    AddHold();  // else the call would be over for us once the request is sent
    StartWriteLast(&request_, grpc::WriteOptions());
    StartCall();
  }
  grpc::StatusCode End() {
    RemoveHold();
    done_.WaitForNotification();
    return status_.error_code();
  }
  grpc::ClientContext& context() { return context_; }

  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const grpc::ByteBuffer request_ = LargeAnswerRequest();
  grpc::Status status_;
  absl::Notification done_;
};

class ReplyFaultsTest : public testing::Test {
 protected:
  // A call whose answer is in flight, until `go` ends it: then the next one is served and nothing
  // is left that a drain would wait for.
  void ExpectNothingLeft(grpc::StatusCode code, std::chrono::milliseconds timeout,
                         const std::function<void(grpc::ClientContext&)>& go) {
    const auto server = ServerProcess::Start(
        {"--max-message-bytes=64MiB", "--drain-timeout-ms=3600000", "--drain-delay-ms=0"});
    ASSERT_NE(server, nullptr);
    {
      DeafCall call(ConnectTo(server->grpc_port()));
      call.context().set_deadline(std::chrono::system_clock::now() + timeout);
      call.Start();
      // Counted just before the answer leaves.
      EXPECT_EQ(AwaitMetric(server->metrics_port(), kReduced, 1), 1);
      go(call.context());
      EXPECT_EQ(call.End(), code);
    }
    {
      Client client(*server);
      v1::ReduceResponse response;
      EXPECT_TRUE(client.Reduce(F32Ones(10), &response).ok());
    }
    EXPECT_EQ(AwaitMetric(server->metrics_port(), "warpfold_requests_in_flight", 0), 0);
    EXPECT_EQ(AwaitMetric(server->metrics_port(), "warpfold_bytes_in_flight", 0), 0);
    server->Signal(SIGTERM);
    EXPECT_EQ(server->Wait(), 0);
  }

  static constexpr char kReduced[] =
      "warpfold_requests_total{code=\"OK\",dtype=\"f32\",method=\"Reduce\",op=\"max\"}";
};

TEST_F(ReplyFaultsTest, AClientThatCancels) {
  ExpectNothingLeft(grpc::StatusCode::CANCELLED, std::chrono::hours(1),
                    [](grpc::ClientContext& context) { context.TryCancel(); });
}

TEST_F(ReplyFaultsTest, AClientWhoseDeadlinePasses) {
  ExpectNothingLeft(grpc::StatusCode::DEADLINE_EXCEEDED, std::chrono::milliseconds(2000),
                    [](grpc::ClientContext&) {});
}

}  // namespace
}  // namespace warpfold::e2e
