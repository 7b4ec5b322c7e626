// What a timeout is of a call that moves many bytes: a limit of silence.
#include "client/cpp/silence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/many_stream.h"
#include "tests/client/fake_service.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;

// SUM of 15 MiB of halves, a stream of 15 chunks, by a call with `timeout`.
absl::StatusOr<ReduceAnswer> SumOfFifteenChunks(FakeServer& server, milliseconds timeout) {
  const auto client = Client::Connect(server.address(), {});
  if (!client.ok()) return client.status();
  const std::vector<float> values(15 << 18, 0.5f);
  return (*client)->Reduce({v1::DTYPE_F32, {15 << 18}, std::as_bytes(std::span(values))},
                           {.ops = {v1::OP_SUM}, .timeout = timeout});
}

TEST(SilenceTest, OnlyBytesThatNoAttemptHadSentAreProgress) {
  Silence silence(milliseconds(5));
  const auto start = silence.ends_at();
  silence.Sent(10);
  const auto moved = silence.ends_at();
  EXPECT_GT(moved, start);
  silence.Sent(10);
  silence.Sent(3);  // another attempt, from the start
  EXPECT_EQ(silence.ends_at(), moved);
  silence.Sent(11);
  EXPECT_GT(silence.ends_at(), moved);
}

TEST(SilenceTest, WhatGoesByInAPauseDoesNotCount) {
  Silence silence(milliseconds(5));
  const auto start = silence.ends_at();
  silence.Pause();
  while (std::chrono::steady_clock::now() < start) {
  }
  EXPECT_TRUE(silence.is_paused());
  silence.Resume();
  EXPECT_FALSE(silence.is_paused());
  EXPECT_GT(silence.ends_at(), std::chrono::steady_clock::now());
  const auto resumed = silence.ends_at();
  silence.Resume();  // of nothing
  EXPECT_EQ(silence.ends_at(), resumed);
}

TEST(SilenceTest, ATimeoutIsForSilenceWhateverTheSize) {
  FakeServer server;
  server.service().TakeOneMessageIn(milliseconds(100));  // a second and a half in all
  const auto answer = SumOfFifteenChunks(server, milliseconds(1000));
  ASSERT_TRUE(answer.ok()) << answer.status();
  float sum = 0;
  ASSERT_EQ(answer->results[0].tensor.data.size(), sizeof(sum));
  std::memcpy(&sum, answer->results[0].tensor.data.data(), sizeof(sum));
  EXPECT_EQ(sum, 1966080.0f);
  EXPECT_EQ(server.service().stream_calls(), 1);
}

TEST(SilenceTest, AStreamThatMakesNoProgressEndsAndSaysSo) {
  FakeServer server;
  server.service().Hang();
  EXPECT_EQ(SumOfFifteenChunks(server, milliseconds(200)).status(),
            absl::DeadlineExceededError("Deadline Exceeded: no progress for 200 ms"));
}

class ManySilenceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto client = Client::Connect(server_.address(), {});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  static absl::Status SendOne(ManyStream& stream) {
    static const std::vector<float> values(6);
    return stream.Send({v1::DTYPE_F32, {6}, std::as_bytes(std::span(values))},
                       {.ops = {v1::OP_SUM}});
  }

  FakeServer server_;
  std::unique_ptr<Client> client_;
};

constexpr auto kNever = std::chrono::system_clock::time_point::max();

const absl::Status kSilentFor200Ms =
    absl::DeadlineExceededError("Deadline Exceeded: no progress for 200 ms");

TEST_F(ManySilenceTest, AStreamMayTakeAsLongAsItsAnswersCome) {
  server_.service().TakeOneMessageIn(milliseconds(100));  // a second and a half in all
  const auto stream = client_->OpenMany({.timeout = milliseconds(1000)});
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(SendOne(*stream).ok());
  for (int i = 0; i < 15; ++i) {
    const auto got = stream->Receive(kNever);
    ASSERT_TRUE(got.ok()) << got.status();
  }
  EXPECT_EQ(stream->Close(), absl::OkStatus());
}

TEST_F(ManySilenceTest, AnAnswerThatDoesNotComeEndsTheStream) {
  server_.service().Hang();
  const auto stream = client_->OpenMany({.timeout = milliseconds(200)});
  ASSERT_TRUE(SendOne(*stream).ok());
  EXPECT_EQ(stream->Receive(kNever).status(), kSilentFor200Ms);
  EXPECT_EQ(SendOne(*stream), kSilentFor200Ms);
  // Neither do many short waits keep it.
  const auto polled = client_->OpenMany({.timeout = milliseconds(200)});
  ASSERT_TRUE(SendOne(*polled).ok());
  absl::StatusOr<std::optional<ManyAnswer>> got = std::nullopt;
  while (got.ok()) {
    got = polled->Receive(std::chrono::system_clock::now() + milliseconds(1));
    ASSERT_FALSE(got.ok() && got->has_value());
  }
  EXPECT_EQ(got.status(), kSilentFor200Ms);
}

TEST_F(ManySilenceTest, CloseDoesNotWaitForEver) {
  server_.service().Hang();
  const auto stream = client_->OpenMany({.timeout = milliseconds(200)});
  ASSERT_TRUE(SendOne(*stream).ok());
  EXPECT_EQ(stream->Close(), kSilentFor200Ms);
}

TEST_F(ManySilenceTest, AStreamThatIsAskedNothingMayLie) {
  const auto stream = client_->OpenMany({.timeout = milliseconds(500)});
  const auto got = stream->Receive(std::chrono::system_clock::now() + milliseconds(600));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_FALSE(got->has_value());
  ASSERT_TRUE(SendOne(*stream).ok());
  const auto answer = stream->Receive(kNever);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE((*answer)->answer.ok());
}

}  // namespace
}  // namespace warpfold::client
