// The retry rule by itself: no network, no clock.
#include "client/cpp/retry.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHour(3'600'000);
constexpr std::uint64_t kSeed = 20261121;

const grpc::Status kUnavailable(grpc::StatusCode::UNAVAILABLE, "");
const grpc::Status kFull(grpc::StatusCode::RESOURCE_EXHAUSTED, "");

TEST(RetryTest, BackoffGrowsByItsFactorWithinTheJitter) {
  const RetryPolicy policy{.attempts_max = 10};
  Retrier retrier(policy, kSeed);
  double expected_ms = 50;
  for (int attempt = 1; attempt < 10; ++attempt) {
    const auto delay = retrier.NextDelay(kUnavailable, {}, kHour);
    ASSERT_TRUE(delay.has_value());
    EXPECT_GE(delay->count(), expected_ms * 0.8 - 1) << attempt;  // rounding to milliseconds
    EXPECT_LE(delay->count(), expected_ms * 1.2) << attempt;
    expected_ms = std::min(expected_ms * 2, 2000.0);
  }
  EXPECT_FALSE(retrier.NextDelay(kUnavailable, {}, kHour).has_value());
  EXPECT_EQ(retrier.attempts(), 10);
}

TEST(RetryTest, ARetryIsNeverEarlierThanTheServerAsked) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Retrier retrier({}, seed);
    const auto delay = retrier.NextDelay(kFull, milliseconds(40), kHour);
    ASSERT_TRUE(delay.has_value());
    EXPECT_GE(*delay, milliseconds(40));
    EXPECT_LE(*delay, milliseconds(50));
  }
}

TEST(RetryTest, ADelayBeyondTheDeadlineIsNotWaitedFor) {
  Retrier retrier({}, kSeed);
  EXPECT_FALSE(retrier.NextDelay(kFull, milliseconds(500), milliseconds(500)).has_value());
  EXPECT_EQ(retrier.attempts(), 1);
}

TEST(RetryTest, ACallThatAnotherOneExcludedIsTriedAgain) {
  Retrier retrier({}, kSeed);
  EXPECT_TRUE(retrier.NextDelay({grpc::StatusCode::ABORTED, ""}, {}, kHour).has_value());
  EXPECT_FALSE(
      retrier.NextDelay({grpc::StatusCode::FAILED_PRECONDITION, ""}, {}, kHour).has_value());
}

TEST(RetryTest, AttemptsWithoutALimitEndWithTheTime) {
  Retrier retrier({}, kSeed);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(retrier.NextDelay(kUnavailable, {}, kHour).has_value());
  }
  EXPECT_EQ(retrier.attempts(), 101);
  EXPECT_FALSE(retrier.NextDelay(kUnavailable, {}, milliseconds(1)).has_value());
}

TEST(RetryTest, OneAttemptMeansNoRetry) {
  Retrier retrier({.attempts_max = 1}, kSeed);
  EXPECT_FALSE(retrier.NextDelay(kUnavailable, {}, kHour).has_value());
}

TEST(RetryTest, TheTrailerWinsOverTheDetailAndTheDetailIsRoundedUp) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(2);
  info.mutable_retry_delay()->set_nanos(1);
  google::rpc::Status status;
  ASSERT_TRUE(status.add_details()->PackFrom(info));
  const grpc::Status refused(grpc::StatusCode::RESOURCE_EXHAUSTED, "", status.SerializeAsString());
  EXPECT_EQ(PushbackOf(refused, std::nullopt), milliseconds(2001));
  EXPECT_EQ(PushbackOf(refused, 7), milliseconds(7));
  EXPECT_EQ(PushbackOf(kFull, std::nullopt), std::nullopt);
}

TEST(RetryTest, DetailsThatAreNotAStatusAreIgnored) {
  const grpc::Status refused(grpc::StatusCode::RESOURCE_EXHAUSTED, "", "\xff\xff\xff");
  EXPECT_EQ(PushbackOf(refused, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace warpfold::client
