// What a timeout is of a call that moves many bytes: a limit of silence.
#include "client/cpp/silence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "client/cpp/client.h"
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

}  // namespace
}  // namespace warpfold::client
