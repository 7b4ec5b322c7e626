#include "server/frontend/stream_payload.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

namespace warpfold {
namespace {

constexpr auto kNever = std::chrono::system_clock::time_point::max();
constexpr std::chrono::milliseconds kLong{60000};

// Counts the reads asked for.
class CountingReader final : public ChunkReader {
 public:
  void ReadChunk() override {
    absl::MutexLock lock(&mutex_);
    ++reads_;
  }
  int reads() const {
    absl::MutexLock lock(&mutex_);
    return reads_;
  }
  void AwaitReads(int count) {
    const auto reached = [this, count]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return reads_ >= count; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&reached));
  }

 private:
  mutable absl::Mutex mutex_;
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
};

SliceRun Bytes(const std::string& bytes) {
  const std::size_t size = bytes.size();
  std::vector<grpc::Slice> slices;
  slices.emplace_back(bytes);
  return SliceRun(std::move(slices), 0, size);
}

class StreamPayloadTest : public ::testing::Test {
 protected:
  std::string Read(StreamPayload& payload, std::size_t size, absl::Status* status = nullptr) {
    std::string out(size, '\0');
    const absl::Status read =
        payload.ReadInto(absl::MakeSpan(reinterpret_cast<std::byte*>(out.data()), size));
    if (status != nullptr) {
      *status = read;
    } else {
      EXPECT_TRUE(read.ok()) << read;
    }
    return out;
  }

  AdmissionController admission_{{}};
  AdmissionTicket ticket_ = *admission_.Admit({.payload = 0});
  CountingReader reader_;
  StreamPayload payload_{reader_, ticket_, kLong, kNever};
};

TEST_F(StreamPayloadTest, NothingIsReadBeforeALaneOpensIt) {
  payload_.Promise(8);
  EXPECT_EQ(reader_.reads(), 0);
  payload_.Open();
  EXPECT_EQ(reader_.reads(), 1);
}

TEST_F(StreamPayloadTest, TwoChunksAreHeldAtMostAndReadingGoesOnOnceOneIsCopied) {
  payload_.Promise(12);
  payload_.Open();
  payload_.OnChunk(Bytes("abcd"));
  EXPECT_EQ(reader_.reads(), 2);
  payload_.OnChunk(Bytes("efgh"));
  EXPECT_EQ(reader_.reads(), 2) << "a third chunk must wait for the lane";
  EXPECT_EQ(admission_.state().bytes_in_flight, 8);
  EXPECT_EQ(Read(payload_, 3), "abc");
  EXPECT_EQ(reader_.reads(), 2);
  EXPECT_EQ(Read(payload_, 3), "def");
  EXPECT_EQ(reader_.reads(), 3);
  EXPECT_EQ(admission_.state().bytes_in_flight, 4);
  payload_.OnChunk(Bytes("ijkl"));
  payload_.OnEnd();
  EXPECT_EQ(Read(payload_, 6), "ghijkl");
  EXPECT_TRUE(payload_.ExpectEnd().ok());
  EXPECT_EQ(admission_.state().bytes_in_flight, 0);
}

TEST_F(StreamPayloadTest, OneReadIsOutstandingAtMost) {
  payload_.Promise(12);
  payload_.Open();
  payload_.OnChunk(Bytes("abcd"));
  EXPECT_EQ(reader_.reads(), 2);
  EXPECT_EQ(Read(payload_, 4), "abcd");
  EXPECT_EQ(reader_.reads(), 2) << "a second read, though the first has not come";
  payload_.OnChunk(Bytes("efgh"));
  EXPECT_EQ(reader_.reads(), 3);
}

TEST_F(StreamPayloadTest, ALaneThatWaitsIsWokenByAChunk) {
  payload_.Promise(4);
  payload_.Open();
  std::jthread sender([this] {
    payload_.OnChunk(Bytes("ab"));
    reader_.AwaitReads(2);
    payload_.OnChunk(Bytes("cd"));
    payload_.OnEnd();
  });
  EXPECT_EQ(Read(payload_, 4), "abcd");
  EXPECT_TRUE(payload_.ExpectEnd().ok());
}

TEST_F(StreamPayloadTest, AChunkPastThePromiseFailsTheStream) {
  payload_.Promise(4);
  payload_.Open();
  payload_.OnChunk(Bytes("abcd"));
  EXPECT_EQ(Read(payload_, 4), "abcd");
  payload_.OnChunk(Bytes("e"));
  EXPECT_EQ(payload_.ExpectEnd().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StreamPayloadTest, AnEndShortOfThePromiseFailsTheStream) {
  payload_.Promise(4);
  payload_.Open();
  payload_.OnChunk(Bytes("abc"));
  payload_.OnEnd();
  absl::Status status;
  Read(payload_, 4, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StreamPayloadTest, EmptyChunksAreHarmless) {
  payload_.Promise(2);
  payload_.Open();
  payload_.OnChunk(Bytes(""));
  payload_.OnChunk(Bytes("ab"));
  payload_.OnChunk(Bytes(""));
  payload_.OnEnd();
  EXPECT_EQ(Read(payload_, 2), "ab");
  EXPECT_TRUE(payload_.ExpectEnd().ok());
}

TEST_F(StreamPayloadTest, FailureWakesAWaitingLaneAndTheFirstOneCounts) {
  payload_.Promise(4);
  payload_.Open();
  std::jthread canceller([this] {
    payload_.Fail(absl::CancelledError("gone"));
    payload_.Fail(absl::InternalError("later"));
  });
  absl::Status status;
  Read(payload_, 4, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(StreamPayloadTest, SilenceEndsTheWait) {
  StreamPayload payload(reader_, ticket_, std::chrono::milliseconds(1), kNever);
  payload.Promise(4);
  payload.Open();
  absl::Status status;
  Read(payload, 4, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message().substr(0, 7), "chunk: ");
}

TEST_F(StreamPayloadTest, TheDeadlineEndsTheWaitBeforeSilenceDoes) {
  StreamPayload payload(reader_, ticket_, kLong,
                        std::chrono::system_clock::now() + std::chrono::milliseconds(1));
  payload.Promise(4);
  payload.Open();
  absl::Status status;
  Read(payload, 4, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message(), "the deadline has passed");
}

TEST_F(StreamPayloadTest, AClosedPayloadDropsWhatStillComes) {
  payload_.Promise(8);
  payload_.Open();
  payload_.OnChunk(Bytes("abcd"));
  payload_.Close();
  ticket_.Release();
  payload_.OnChunk(Bytes("efgh"));
  EXPECT_EQ(admission_.state().bytes_in_flight, 0);
  EXPECT_EQ(reader_.reads(), 2);
}

}  // namespace
}  // namespace warpfold
