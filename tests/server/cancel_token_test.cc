#include "server/core/base/cancel_token.h"

#include <array>
#include <barrier>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace warpfold {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using SystemClock = CancelToken::Clock;

const absl::Status kGone = absl::CancelledError("the client has gone");
const absl::Status kEnded = absl::NotFoundError("the tensor has ended");
const absl::Status kOverdue = absl::DeadlineExceededError("the deadline has passed");

TEST(CancelTokenTest, IsWantedUntilItIsCancelled) {
  CancelToken token;
  EXPECT_TRUE(token.CheckCancelled().ok());
  EXPECT_TRUE(token.Cancel(kGone));
  EXPECT_EQ(token.CheckCancelled(), kGone);
}

TEST(CancelTokenTest, TheFirstReasonWins) {
  CancelToken token;
  EXPECT_TRUE(token.Cancel(kEnded));
  EXPECT_FALSE(token.Cancel(kGone));
  EXPECT_FALSE(token.Cancel(kEnded));
  EXPECT_EQ(token.CheckCancelled(), kEnded);
}

TEST(CancelTokenTest, ADeadlineIsAReason) {
  EXPECT_TRUE(CancelToken(SystemClock::now() + hours(1)).CheckCancelled().ok());
  EXPECT_EQ(CancelToken(SystemClock::now() - hours(1)).CheckCancelled(), kOverdue);
}

TEST(CancelTokenTest, ADeadlineThatCameFirstWinsThoughNobodyHadAsked) {
  CancelToken token(SystemClock::now() - hours(1));
  EXPECT_FALSE(token.Cancel(kGone));
  EXPECT_EQ(token.CheckCancelled(), kOverdue);
}

// Which of the two is first the test does not know; the token does.
TEST(CancelTokenTest, AClientThatWentBeforeItsDeadlineStaysTheReason) {
  constexpr unsigned kSeed = 3;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 1000; ++round) {
    const SystemClock::time_point deadline = SystemClock::now() + microseconds(random() % 20);
    CancelToken token(deadline);
    const bool was_first = token.Cancel(kGone);
    EXPECT_EQ(token.CheckCancelled(), was_first ? kGone : kOverdue);
    while (SystemClock::now() < deadline) {
    }
    ASSERT_EQ(token.CheckCancelled(), was_first ? kGone : kOverdue);
  }
}

TEST(CancelTokenTest, AChildSeesItsParentsReasonAndNotTheOtherWayRound) {
  CancelToken request;
  CancelToken shard(CancelToken::kNoDeadline, &request);
  CancelToken sibling(CancelToken::kNoDeadline, &request);
  EXPECT_TRUE(shard.CheckCancelled().ok());
  EXPECT_TRUE(sibling.Cancel(kEnded));
  EXPECT_TRUE(request.CheckCancelled().ok());
  EXPECT_TRUE(shard.CheckCancelled().ok());
  EXPECT_TRUE(request.Cancel(kGone));
  EXPECT_EQ(shard.CheckCancelled(), kGone);
  EXPECT_EQ(sibling.CheckCancelled(), kEnded) << "it was there before the parent's";
}

TEST(CancelTokenTest, AParentsReasonComesBeforeALaterOneOfTheChild) {
  CancelToken request;
  CancelToken shard(CancelToken::kNoDeadline, &request);
  EXPECT_TRUE(request.Cancel(kGone));
  EXPECT_FALSE(shard.Cancel(kEnded));
  EXPECT_EQ(shard.CheckCancelled(), kGone);
}

TEST(CancelTokenTest, AParentsDeadlineIsTheChilds) {
  const CancelToken request(SystemClock::now() - hours(1));
  EXPECT_EQ(CancelToken(CancelToken::kNoDeadline, &request).CheckCancelled(), kOverdue);
}

// Two clients' threads, the parent's and the clock, while others ask: one reason, for all and for
// ever, and it is that of whoever was told so.
TEST(CancelTokenTest, RacedByThreadsItHasOneReason) {
  constexpr unsigned kSeed = 5;
  constexpr int kRounds = 1000;
  constexpr int kAskers = 2;
  SCOPED_TRACE(kSeed);
  struct Round {
    explicit Round(SystemClock::time_point deadline) : parent(), token(deadline, &parent) {}
    CancelToken parent;
    CancelToken token;
  };
  std::optional<Round> round;
  std::array<bool, 2> was_first{};
  std::array<absl::Status, kAskers> heard;
  std::barrier turn(5 + 1);
  std::vector<std::jthread> threads;
  const auto add = [&](const auto& act) {
    threads.emplace_back([&turn, act] {
      for (int i = 0; i < kRounds; ++i) {
        turn.arrive_and_wait();
        act();
        turn.arrive_and_wait();
      }
    });
  };
  for (std::size_t who = 0; who < was_first.size(); ++who) {
    add([&round, &was_first, who] {
      was_first[who] = round->token.Cancel(absl::CancelledError(absl::StrCat("client ", who)));
    });
  }
  add([&round] { round->parent.Cancel(kGone); });
  for (std::size_t who = 0; who < kAskers; ++who) {
    add([&round, &heard, who] {
      do {
        heard[who] = round->token.CheckCancelled();
      } while (heard[who].ok());
    });
  }
  std::mt19937 random(kSeed);
  for (int i = 0; i < kRounds; ++i) {
    round.emplace(SystemClock::now() + microseconds(random() % 60));
    turn.arrive_and_wait();
    turn.arrive_and_wait();
    const absl::Status why = round->token.CheckCancelled();
    for (const absl::Status& reason : heard) EXPECT_EQ(reason, why);
    EXPECT_FALSE(was_first[0] && was_first[1]);
    for (std::size_t who = 0; who < was_first.size(); ++who) {
      EXPECT_EQ(was_first[who], why == absl::CancelledError(absl::StrCat("client ", who)));
    }
    EXPECT_TRUE(was_first[0] || was_first[1] || why == kGone || why == kOverdue) << why;
  }
}

}  // namespace
}  // namespace warpfold
