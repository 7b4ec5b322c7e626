// A thousand ReduceStreams open at a time, on a server with two workers: those that wait for a
// place are not read from, so that their senders wait, and the server's memory does not grow with
// them.
#include <cstring>
#include <deque>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "tests/e2e/served_test.h"

namespace warpfold::e2e {
namespace {

constexpr int kOpenStreams = 1000;
constexpr std::int64_t kStreamElements = 256 << 10;  // 1 MiB of f32 each, 1000 MiB together

class ManyStreamsTest : public ServedTest {
 protected:
  static void SetUpTestSuite() {
    // Half of the bytes is for uploads: places for 21 of them, of a piece and two MiB each.
    StartServer({"--workers-per-device=2", "--max-bytes-in-flight=256MiB",
                 "--access-log-fast-per-s=0", "--max-streams-per-connection=1024"});
  }
};

grpc::ByteBuffer MessageBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// A stream that sends its header, then all of its tensor in one message, as fast as it is taken.
class SendingStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // The messages are shared by all streams: this process does not hold them a thousand times.
  SendingStream(grpc::GenericStub& stub, const grpc::ByteBuffer& header,
                const grpc::ByteBuffer& chunk)
      : chunk_(chunk) {
    stub.PrepareBidiStreamingCall(&context_, "/warpfold.v1.ReductionService/ReduceStream", {},
                                  this);
    AddHold();
    StartRead(&response_);
    StartWrite(&header);
    StartCall();
  }

  // From now on the tensor may be sent. REQUIRES: the header was taken.
  void Send() {
    StartWriteLast(&chunk_, grpc::WriteOptions());
    RemoveHold();
  }

  // Waits for the answer: its sum.
  float Await() {
    done_.WaitForNotification();
    EXPECT_TRUE(status_.ok()) << status_.error_message();
    v1::ReduceResponse response;
    grpc::ProtoBufferReader bytes(&response_);
    float sum = 0;
    if (status_.ok() && response.ParseFromZeroCopyStream(&bytes)) {
      std::memcpy(&sum, response.results(0).data().data(), sizeof(sum));
    }
    return sum;
  }

  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

 private:
  grpc::ClientContext context_;
  const grpc::ByteBuffer& chunk_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
  absl::Notification done_;
};

TEST_F(ManyStreamsTest, AThousandOpenStreamsDoNotFillTheServer) {
  const grpc::ByteBuffer header = MessageBuffer(Header(F32Request({kStreamElements})));
  const grpc::ByteBuffer chunk = MessageBuffer(Chunk(F32Ones(kStreamElements).data()));
  const auto await = [](const char* series, double value) {
    ASSERT_EQ(AwaitMetric(server().metrics_port(), series, value), value) << series;
  };
  grpc::GenericStub stub(std::shared_ptr<grpc::Channel>(&client().channel(), [](auto*) {}));
  const double before_mib = server().MemoryMib("VmRSS:");
  std::deque<SendingStream> streams;
  for (int i = 0; i < kOpenStreams; ++i) streams.emplace_back(stub, header, chunk);
  await("warpfold_requests_expected", kOpenStreams);
  await("warpfold_workers{state=\"in_use\"}", 0);
  for (SendingStream& stream : streams) stream.Send();
  for (SendingStream& stream : streams)
    EXPECT_EQ(stream.Await(), static_cast<float>(kStreamElements));
  // What a stream's flow control lets in before it is read, its own few structures, and its share
  // of the places.
  constexpr double kMibPerStreamMax = 0.2;
  EXPECT_LT(server().MemoryMib("VmHWM:") - before_mib, kOpenStreams * kMibPerStreamMax);
}

}  // namespace
}  // namespace warpfold::e2e
