#include "server/core/read_line.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/refusal.h"

namespace warpfold {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNoLag{0};
constexpr std::int64_t kTurns = ReadLine::kTurns;

class Call final : public ReadLine::Member {
 public:
  std::atomic<int> turns{0};
  bool stays = true;

 private:
  bool OnTurn() override {
    ++turns;
    return stays;
  }
};

class ReadLineTest : public ::testing::Test {
 protected:
  std::vector<std::shared_ptr<Call>> Enter(std::int64_t count) {
    std::vector<std::shared_ptr<Call>> calls;
    for (std::int64_t i = 0; i < count; ++i) {
      calls.push_back(std::make_shared<Call>());
      EXPECT_TRUE(line_.Enter(calls.back()).ok());
    }
    return calls;
  }
  static std::int64_t Turns(const std::vector<std::shared_ptr<Call>>& calls) {
    std::int64_t turns = 0;
    for (const auto& call : calls) turns += call->turns;
    return turns;
  }

  ReadLine line_{std::int64_t{1} << 30};
};

TEST_F(ReadLineTest, SoManyHaveTheirTurnAndTheNextWhenOneLeaves) {
  const auto first = Enter(kTurns);
  EXPECT_EQ(Turns(first), kTurns);
  const auto second = Enter(3);
  EXPECT_EQ(Turns(second), 0);
  EXPECT_EQ(line_.waiting(), 3);
  line_.Leave(*first[5]);
  EXPECT_EQ(second[0]->turns, 1) << "the first in line";
  EXPECT_EQ(Turns(second), 1);
  line_.Leave(*first[5]);
  EXPECT_EQ(Turns(second), 1) << "each once";
  line_.Leave(*second[0]);
  line_.Leave(*first[0]);
  EXPECT_EQ(Turns(second), 3);
  EXPECT_EQ(line_.waiting(), 0);
  line_.Pass(ReadLine::kTurnMax, kNoLag);
  for (const auto& call : first) line_.Leave(*call);
  for (const auto& call : second) line_.Leave(*call);
  EXPECT_EQ(Turns(Enter(kTurns + 1)), kTurns) << "in any era";
}

TEST_F(ReadLineTest, ThoseThatHaveNoUseForTheirTurnsLeaveThemToTheNext) {
  const auto first = Enter(kTurns);
  const auto useless = Enter(3 * kTurns);
  for (const auto& call : useless) call->stays = false;
  const auto last = Enter(2);
  line_.Leave(*first[0]);
  EXPECT_EQ(Turns(useless), 1) << "whoever brings it about refuses no more than it has to";
  for (std::int64_t i = 1; i < kTurns; ++i) line_.Leave(*first[i]);
  line_.Pass(milliseconds(1), kNoLag);
  line_.Pass(milliseconds(1), kNoLag);
  line_.Pass(milliseconds(1), kNoLag);
  EXPECT_EQ(Turns(useless), 3 * kTurns);
  EXPECT_EQ(Turns(last), 2);
}

TEST_F(ReadLineTest, WhoSendsHalfAMessageKeepsNobodyWaitingForLong) {
  const auto silent = Enter(kTurns);
  const auto honest = Enter(2);
  line_.Pass(ReadLine::kTurnMax, kNoLag);
  EXPECT_EQ(Turns(honest), 0) << "some have only begun";
  line_.Pass(ReadLine::kTurnMax - milliseconds(1), kNoLag);
  EXPECT_EQ(Turns(honest), 0);
  line_.Pass(milliseconds(1), kNoLag);
  EXPECT_EQ(Turns(honest), 2);
  for (const auto& call : silent) line_.Leave(*call);
  const auto next = Enter(kTurns - 2);
  EXPECT_EQ(Turns(next), kTurns - 2) << "whose turns had ended left none";
  EXPECT_EQ(Turns(Enter(1)), 0);
}

TEST_F(ReadLineTest, WhileTheServerIsBehindTurnsLastLonger) {
  const milliseconds lag(200);
  const auto first = Enter(kTurns);
  const auto second = Enter(1);
  for (int era = 0; era < 2; ++era) {
    EXPECT_EQ(Turns(second), 0);
    line_.Pass(ReadLine::kTurnMax + 2 * lag - milliseconds(1), lag);
    EXPECT_EQ(Turns(second), 0);
    line_.Pass(milliseconds(1), lag);
  }
  EXPECT_EQ(Turns(second), 1);
}

TEST_F(ReadLineTest, ClientsMakeTurnsNoLongerThanThat) {
  const auto first = Enter(kTurns);
  const auto second = Enter(1);
  for (int era = 0; era < 2; ++era) {
    EXPECT_EQ(Turns(second), 0);
    line_.Pass(ReadLine::kTurnMax + 2 * ReadLine::kLagMax, 100 * ReadLine::kLagMax);
  }
  EXPECT_EQ(Turns(second), 1);
}

TEST_F(ReadLineTest, AsManyWaitAsMayAndNoMore) {
  line_.SetBytesMax(0);
  const auto turns = Enter(kTurns);
  const auto waiting = Enter(ReadLine::kWaitingMaxMin);
  const auto call = std::make_shared<Call>();
  const absl::Status refused = line_.Enter(call);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the limit of 1024 calls that wait to be read is reached (--max-bytes-in-flight)");
  EXPECT_EQ(std::get<RetryLater>(*RefusalOf(refused)).delay, std::chrono::seconds(1));
  EXPECT_EQ(line_.refused(), 1U);
  line_.Leave(*turns[0]);
  EXPECT_TRUE(line_.Enter(call).ok());
  line_.SetBytesMax(3000 * ReadLine::kWaitingCallBytes);
  Enter(3000 - ReadLine::kWaitingMaxMin);
  EXPECT_FALSE(line_.Enter(std::make_shared<Call>()).ok());
}

TEST_F(ReadLineTest, EachHasOneTurnWhateverComesBetween) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 20'000;
  constexpr unsigned kSeed = 4712;
  std::printf("seed %u\n", kSeed);
  std::atomic<bool> done{false};
  std::vector<std::vector<std::shared_ptr<Call>>> calls(kThreads);
  std::jthread passing([&] {
    while (!done) line_.Pass(milliseconds(50), kNoLag);
  });
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::minstd_rand random(kSeed + t);
        std::vector<std::shared_ptr<Call>> here;
        for (int i = 0; i < kCalls; ++i) {
          calls[t].push_back(std::make_shared<Call>());
          here.push_back(calls[t].back());
          ASSERT_TRUE(line_.Enter(here.back()).ok());
          while (here.size() > 600) {  // more than have turns
            std::swap(here[random() % here.size()], here.back());
            line_.Leave(*here.back());
            if (here.back()->turns > 0) here.pop_back();
          }
        }
      });
    }
  }
  done = true;
  passing.join();
  for (const auto& own : calls) {
    for (const auto& call : own) line_.Leave(*call);
  }
  for (int i = 0; i < 4; ++i) line_.Pass(ReadLine::kTurnMax, kNoLag);
  std::int64_t turns = 0;
  for (const auto& own : calls) turns += Turns(own);
  EXPECT_EQ(turns, kThreads * kCalls);
  EXPECT_EQ(line_.waiting(), 0);
}

}  // namespace
}  // namespace warpfold
