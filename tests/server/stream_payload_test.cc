#include "server/frontend/calls/stream_payload.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

namespace warpfold {
namespace {

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

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::int64_t kPlaceBytes = PlaceBytes(kMiB);
constexpr std::int64_t kBeyondBytes = 5 * kMiB;

class StreamPayloadTest : public ::testing::Test {
 protected:
  // In a place, unless the test says otherwise. Counts how often the first segment is said to be
  // here.
  void Begin(std::int64_t promised_bytes, std::int64_t first_bytes,
             std::int64_t covered_bytes = kPlaceBytes) {
    payload_.Begin(promised_bytes, first_bytes, covered_bytes, [this] { ++here_; });
  }
  bool IsHere(std::size_t bytes) { return payload_.AwaitBytes(bytes, {}); }
  std::string Read(std::size_t size) {
    std::string out(size, '\0');
    const absl::Status read =
        payload_.ReadInto(absl::MakeSpan(reinterpret_cast<std::byte*>(out.data()), size));
    EXPECT_TRUE(read.ok()) << read;
    return out;
  }
  absl::Status ReadStatus() {
    std::byte out{};
    return payload_.ReadInto(absl::MakeSpan(&out, 1));
  }
  std::int64_t held() { return admission_.state().bytes_in_flight; }

  AdmissionController admission_{{.max_bytes_in_flight = 16 * kMiB}};
  AdmissionTicket ticket_ = *admission_.Expect({});
  CountingReader reader_;
  ByteBudget beyond_{kBeyondBytes};
  StreamPayload payload_{reader_, ticket_, beyond_};
  int here_ = 0;
};

TEST_F(StreamPayloadTest, IsReadUntilTheFirstSegmentIsHere) {
  EXPECT_EQ(reader_.reads(), 0);
  Begin(12, 6);
  EXPECT_EQ(reader_.reads(), 1);
  payload_.OnChunk(Bytes("abcd"));
  EXPECT_EQ(here_, 0);
  EXPECT_EQ(reader_.reads(), 2);
  payload_.OnChunk(Bytes("efgh"));
  EXPECT_EQ(here_, 1);
  EXPECT_EQ(reader_.reads(), 2) << "nobody has taken the first segment";
  EXPECT_EQ(held(), 8);
  EXPECT_TRUE(IsHere(6));
  EXPECT_EQ(Read(6), "abcdef");
  EXPECT_EQ(reader_.reads(), 3);
  payload_.OnChunk(Bytes("ijkl"));
  EXPECT_FALSE(IsHere(6)) << "the end is not here";
  payload_.OnEnd();
  EXPECT_TRUE(IsHere(6));
  EXPECT_EQ(Read(6), "ghijkl");
  EXPECT_TRUE(payload_.ExpectEnd().ok());
  EXPECT_EQ(here_, 1);
  payload_.Close();
  EXPECT_EQ(held(), 0);
}

TEST_F(StreamPayloadTest, AWholeTensorIsHereWithItsEnd) {
  Begin(4, 100);
  payload_.OnChunk(Bytes("abcd"));
  EXPECT_EQ(here_, 0);
  EXPECT_EQ(reader_.reads(), 2);
  payload_.OnEnd();
  EXPECT_EQ(here_, 1);
  EXPECT_TRUE(payload_.Reserve().ok());
  EXPECT_EQ(held(), 4);
}

TEST_F(StreamPayloadTest, OfATensorWithoutElementsTheEndIsAwaited) {
  Begin(0, 100);
  EXPECT_EQ(reader_.reads(), 1);
  EXPECT_EQ(here_, 0);
  payload_.OnEnd();
  EXPECT_EQ(here_, 1);
  EXPECT_TRUE(payload_.ExpectEnd().ok());
}

TEST_F(StreamPayloadTest, AWorkerHasOneMoreMebibyteReadThanItNeeds) {
  Begin(8 * kMiB, kMiB);
  payload_.OnChunk(Bytes(std::string(kMiB, 'x')));
  EXPECT_EQ(reader_.reads(), 1);
  EXPECT_TRUE(IsHere(kMiB));
  EXPECT_EQ(reader_.reads(), 2);
  payload_.OnChunk(Bytes(std::string(kMiB - 1, 'x')));
  EXPECT_EQ(reader_.reads(), 3);
  payload_.OnChunk(Bytes("x"));
  EXPECT_EQ(reader_.reads(), 3) << "needed are one, and one ahead";
  Read(1);
  EXPECT_EQ(reader_.reads(), 4);
}

TEST_F(StreamPayloadTest, OneReadIsOutstandingAtMost) {
  Begin(12, 4);
  payload_.OnChunk(Bytes("abcd"));
  EXPECT_TRUE(IsHere(4));
  EXPECT_EQ(Read(4), "abcd");
  EXPECT_EQ(reader_.reads(), 2) << "a second read, though the first has not come";
  payload_.OnChunk(Bytes("efgh"));
  EXPECT_EQ(reader_.reads(), 3);
}

TEST_F(StreamPayloadTest, WhatIsReservedIsHeldWhateverComesAndGoes) {
  Begin(8 * kMiB, kMiB);
  payload_.OnChunk(Bytes(std::string(kMiB, 'x')));
  ASSERT_TRUE(payload_.Reserve().ok());
  EXPECT_EQ(held(), 3 * kMiB);
  EXPECT_TRUE(IsHere(kMiB));
  Read(kMiB);
  EXPECT_EQ(held(), 3 * kMiB);
  payload_.OnChunk(Bytes(std::string(4 * kMiB, 'x')));
  EXPECT_EQ(held(), 4 * kMiB) << "a chunk larger than most";
  Read(4 * kMiB);
  EXPECT_EQ(held(), 3 * kMiB);
  payload_.Close();
  EXPECT_EQ(held(), 0);
}

TEST_F(StreamPayloadTest, WhatThereIsNoRoomForFailsTheStream) {
  AdmissionTicket others = *admission_.Admit({.payload = 14 * kMiB});
  Begin(8 * kMiB, kMiB);
  payload_.OnChunk(Bytes(std::string(kMiB, 'x')));
  EXPECT_EQ(here_, 1);
  EXPECT_EQ(payload_.Reserve().code(), absl::StatusCode::kResourceExhausted);
  others.Release();
  ASSERT_TRUE(payload_.Reserve().ok());
  others = *admission_.Admit({.payload = 13 * kMiB});
  EXPECT_TRUE(IsHere(kMiB));
  payload_.OnChunk(Bytes(std::string(3 * kMiB, 'x')));
  EXPECT_EQ(ReadStatus().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(StreamPayloadTest, ChunksOfTheUsualSizeStayWithinThePlace) {
  Begin(64 * kMiB, kMiB);
  payload_.OnChunk(Bytes(std::string(kMiB, 'x')));
  ASSERT_TRUE(payload_.Reserve().ok());
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(IsHere(kMiB));
    payload_.OnChunk(Bytes(std::string(kMiB, 'x')));
    Read(kMiB - 1);
    EXPECT_EQ(beyond_.used_bytes(), 0);
  }
}

TEST_F(StreamPayloadTest, WhatIsHereBeyondThePlaceIsBounded) {
  Begin(64 * kMiB, kMiB);
  payload_.OnChunk(Bytes(std::string(kPlaceBytes + kMiB, 'x')));
  EXPECT_EQ(beyond_.used_bytes(), kMiB);
  ASSERT_TRUE(payload_.LeavePlace());
  EXPECT_EQ(beyond_.used_bytes(), kPlaceBytes + kMiB);
  EXPECT_EQ(held(), kPlaceBytes + kMiB);
  EXPECT_TRUE(payload_.LeavePlace()) << "it has none";
  EXPECT_EQ(beyond_.used_bytes(), kPlaceBytes + kMiB);
  payload_.EnterPlace(kPlaceBytes);
  EXPECT_EQ(beyond_.used_bytes(), kMiB);
  payload_.Close();
  EXPECT_EQ(beyond_.used_bytes(), 0);
  EXPECT_EQ(held(), 0);
}

TEST_F(StreamPayloadTest, WithoutRoomBeyondItKeepsItsPlace) {
  ASSERT_TRUE(beyond_.TryAdd(kBeyondBytes - kMiB, 0));  // by others
  Begin(64 * kMiB, kMiB);
  payload_.OnChunk(Bytes(std::string(kMiB + 1, 'x')));
  ASSERT_TRUE(payload_.Reserve().ok());
  EXPECT_FALSE(payload_.LeavePlace());
  EXPECT_EQ(held(), 3 * kMiB);
  beyond_.Drop(1);
  EXPECT_TRUE(payload_.LeavePlace());
  EXPECT_EQ(held(), kMiB + 1);
  EXPECT_FALSE(beyond_.HasRoomFor(1));
  payload_.Close();
}

TEST_F(StreamPayloadTest, AChunkWithoutRoomBeyondFailsTheStream) {
  ASSERT_TRUE(beyond_.TryAdd(kBeyondBytes - 1, 0));  // by others
  Begin(64 * kMiB, kMiB, /*covered_bytes=*/0);
  payload_.OnChunk(Bytes("x"));
  EXPECT_TRUE(payload_.Reserve().ok()) << "nothing is reserved without a place";
  EXPECT_EQ(held(), 1);
  payload_.OnChunk(Bytes("x"));
  EXPECT_EQ(here_, 1);
  EXPECT_EQ(ReadStatus().message(),
            "the limit of 5242880 bytes of streams that wait for their clients is reached");
  payload_.Close();
  EXPECT_EQ(beyond_.used_bytes(), kBeyondBytes - 1);
}

TEST_F(StreamPayloadTest, AWorkerThatWaitsIsWokenByAChunk) {
  Begin(4, 1);
  std::jthread sender([this] {
    payload_.OnChunk(Bytes("ab"));
    reader_.AwaitReads(2);
    payload_.OnChunk(Bytes("cd"));
    payload_.OnEnd();
  });
  EXPECT_TRUE(payload_.AwaitBytes(4, std::chrono::steady_clock::time_point::max()));
  EXPECT_EQ(Read(4), "abcd");
  EXPECT_TRUE(payload_.ExpectEnd().ok());
}

TEST_F(StreamPayloadTest, WhoLeftAWorkerIsWokenOnceByWhatItNeeds) {
  Begin(12, 1);
  payload_.OnChunk(Bytes("ab"));
  EXPECT_FALSE(IsHere(4));
  int woken = 0;
  EXPECT_TRUE(payload_.WakeWhenHere(4, [&] { ++woken; }));
  payload_.OnChunk(Bytes("c"));
  EXPECT_EQ(woken, 0);
  payload_.OnChunk(Bytes("d"));
  EXPECT_EQ(woken, 1);
  payload_.OnChunk(Bytes("e"));
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(payload_.WakeWhenHere(5, [&] { ++woken; })) << "they are here";
  EXPECT_TRUE(payload_.WakeWhenHere(6, [&] { ++woken; }));
  payload_.Fail(absl::CancelledError("gone"));
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(here_, 1);
}

// As they come each keeps a buffer of gRPC's.
TEST_F(StreamPayloadTest, SmallChunksAreGathered) {
  constexpr std::int64_t kCount = 200'000;
  Begin(kCount + 5000, kCount + 5000);
  std::string expected;
  for (std::int64_t i = 0; i < kCount; ++i) {
    expected.push_back(static_cast<char>('a' + i % 26));
    payload_.OnChunk(Bytes(expected.substr(expected.size() - 1)));
  }
  expected += std::string(5000, 'z');
  payload_.OnChunk(Bytes(std::string(5000, 'z')));
  payload_.OnEnd();
  EXPECT_EQ(held(), std::ssize(expected));
  EXPECT_EQ(Read(expected.size()), expected);
  EXPECT_TRUE(payload_.ExpectEnd().ok());
  EXPECT_EQ(held(), 0);
}

TEST_F(StreamPayloadTest, AChunkPastThePromiseFailsTheStream) {
  Begin(4, 4);
  payload_.OnChunk(Bytes("abcd"));
  EXPECT_EQ(here_, 0);
  payload_.OnChunk(Bytes("e"));
  EXPECT_EQ(here_, 1);
  EXPECT_EQ(payload_.Reserve().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(payload_.ExpectEnd().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StreamPayloadTest, AnEndShortOfThePromiseFailsTheStream) {
  Begin(4, 4);
  payload_.OnChunk(Bytes("abc"));
  payload_.OnEnd();
  EXPECT_EQ(here_, 1);
  EXPECT_TRUE(IsHere(4)) << "nothing more will come";
  EXPECT_EQ(ReadStatus().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StreamPayloadTest, EmptyChunksAreHarmless) {
  Begin(2, 2);
  payload_.OnChunk(Bytes(""));
  payload_.OnChunk(Bytes("ab"));
  payload_.OnChunk(Bytes(""));
  payload_.OnEnd();
  EXPECT_EQ(Read(2), "ab");
  EXPECT_TRUE(payload_.ExpectEnd().ok());
}

TEST_F(StreamPayloadTest, OfFailuresTheFirstOneCounts) {
  Begin(4, 4);
  payload_.Fail(absl::CancelledError("gone"));
  payload_.Fail(absl::InternalError("later"));
  EXPECT_EQ(here_, 1);
  EXPECT_EQ(ReadStatus().code(), absl::StatusCode::kCancelled);
}

TEST_F(StreamPayloadTest, AFailureBeforeTheHeaderIsToldWithIt) {
  payload_.Fail(absl::CancelledError("gone"));
  Begin(4, 4);
  EXPECT_EQ(here_, 1);
  EXPECT_EQ(reader_.reads(), 0);
}

TEST_F(StreamPayloadTest, AClosedPayloadDropsWhatStillComes) {
  Begin(8, 8);
  payload_.OnChunk(Bytes("abcd"));
  payload_.Close();
  ticket_.Release();
  payload_.OnChunk(Bytes("efgh"));
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(reader_.reads(), 2);
  EXPECT_EQ(here_, 0);
}

}  // namespace
}  // namespace warpfold
