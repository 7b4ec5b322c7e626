#include "server/core/admission/read_line.h"

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/admission/room.h"
#include "server/core/base/refusal.h"

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

using Calls = std::vector<std::shared_ptr<Call>>;

// All calls are of one connection, unless a test says otherwise.
class ReadLineTest : public ::testing::Test {
 protected:
  Calls Enter(std::int64_t count) { return Enter(client_, count); }
  Calls Enter(ReadLine::Client& client, std::int64_t count) {
    Calls calls;
    for (std::int64_t i = 0; i < count; ++i) {
      calls.push_back(std::make_shared<Call>());
      EXPECT_TRUE(line_.Enter(client, calls.back()).ok());
    }
    return calls;
  }
  static std::int64_t Turns(const Calls& calls) {
    std::int64_t turns = 0;
    for (const auto& call : calls) turns += call->turns;
    return turns;
  }

  void NextEra() { line_.Pass(ReadLine::kTurnMax, kNoLag); }

  ReadLine line_{std::int64_t{1} << 30};
  ReadLine::Client client_;
};

TEST_F(ReadLineTest, CallersWhoShowNamesTakeTurns) {
  const std::int64_t turns = ReadLine::OfCalls().shared_turns;
  ASSERT_LT(turns, kTurns / 2);
  ReadLine::Client greedy(/*is_caller=*/true);
  ReadLine::Client modest(/*is_caller=*/true);
  const auto before = Enter(greedy, turns + 100);
  EXPECT_EQ(Turns(before), turns + 100) << "alone";
  const auto first = Enter(modest, 2);
  EXPECT_EQ(Turns(first), 1) << "its only one";
  for (const auto& call : before) line_.Leave(*call);
  EXPECT_EQ(Turns(first), 2);
  const auto many = Enter(greedy, turns + 100);
  const auto few = Enter(modest, 50);
  EXPECT_EQ(Turns(many), turns - 2);
  EXPECT_EQ(Turns(few), 0);
  line_.Leave(*many[0]);
  line_.Leave(*first[0]);
  EXPECT_EQ(Turns(many), turns - 1) << "by turns";
  EXPECT_EQ(Turns(few), 1);
  // Once one of them has gone the other has all turns again.
  line_.Leave(*first[1]);
  for (const auto& call : few) line_.Leave(*call);
  NextEra();
  NextEra();
  const auto alone = Enter(greedy, 1);
  EXPECT_EQ(Turns(many), turns + 100);
  EXPECT_EQ(Turns(alone), 1);
}

TEST_F(ReadLineTest, ATurnThatIsRenewedLastsAndAnotherDoesNot) {
  ReadLine line(std::int64_t{1} << 30, {.shared_turns = 2, .turn_max = std::chrono::hours(1)});
  ReadLine::Client greedy(/*is_caller=*/true);
  ReadLine::Client modest(/*is_caller=*/true);
  const auto seen = std::make_shared<Call>();
  ASSERT_TRUE(line.Enter(modest, seen).ok());
  line.Leave(*seen);
  EXPECT_FALSE(line.Renew(*seen)) << "it has left";
  Calls calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(std::make_shared<Call>());
    ASSERT_TRUE(line.Enter(greedy, calls.back()).ok());
  }
  EXPECT_EQ(Turns(calls), 2);
  EXPECT_TRUE(line.Renew(*calls[0]));
  EXPECT_FALSE(line.Renew(*calls[3])) << "it waits";
  line.Pass(ReadLine::kTurnMax, kNoLag);
  EXPECT_EQ(Turns(calls), 2) << "eras are not those of Pass";
  line.Leave(*calls[0]);
  EXPECT_EQ(Turns(calls), 3);
}

TEST_F(ReadLineTest, ItIsSharedWhileSeveralCallersAreSeen) {
  ReadLine::Client greedy(/*is_caller=*/true);
  ReadLine::Client modest(/*is_caller=*/true);
  EXPECT_FALSE(line_.IsSharedBy(greedy));
  EXPECT_FALSE(line_.IsSharedBy(greedy)) << "once";
  EXPECT_TRUE(line_.IsSharedBy(modest));
  EXPECT_TRUE(line_.IsSharedBy(greedy));
  NextEra();
  EXPECT_TRUE(line_.IsSharedBy(greedy)) << "of late";
  NextEra();
  EXPECT_FALSE(line_.IsSharedBy(greedy));
}

TEST_F(ReadLineTest, ATurnOfItemsThatIsNotRenewedEnds) {
  ReadLine line(std::int64_t{1} << 30,
                {.shared_turns = 1, .turn_max = std::chrono::microseconds(0)});
  ReadLine::Client greedy(/*is_caller=*/true);
  ReadLine::Client modest(/*is_caller=*/true);
  const auto seen = std::make_shared<Call>();
  ASSERT_TRUE(line.Enter(modest, seen).ok());
  line.Leave(*seen);
  const auto idle = std::make_shared<Call>();
  ASSERT_TRUE(line.Enter(greedy, idle).ok());
  const auto next = std::make_shared<Call>();
  ASSERT_TRUE(line.Enter(greedy, next).ok());
  line.Pass(milliseconds(0), kNoLag);
  line.Pass(milliseconds(0), kNoLag);
  EXPECT_EQ(next->turns, 1) << "each change is an era";
  EXPECT_FALSE(line.Renew(*idle));
}

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
  EXPECT_EQ(Turns(useless), ReadLine::kBegunMax) << "nobody refuses the whole line";
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

TEST_F(ReadLineTest, AClientThatHasNoTurnIsBeforeThoseThatHave) {
  ReadLine::Client hostile;
  const auto half_messages = Enter(hostile, 20 * kTurns);
  EXPECT_EQ(Turns(half_messages), kTurns);
  const auto honest = Enter(3);
  EXPECT_EQ(Turns(honest), 1) << "at once, though all turns are taken";
  line_.Leave(*honest[0]);
  EXPECT_EQ(Turns(honest), 2);
  line_.Leave(*honest[1]);
  line_.Leave(*honest[2]);
  EXPECT_EQ(Turns(honest), 3);
  EXPECT_EQ(Turns(half_messages), kTurns);
}

TEST_F(ReadLineTest, TurnsGoRoundTheConnections) {
  const auto first = Enter(kTurns);
  std::deque<ReadLine::Client> clients(3);
  std::vector<Calls> calls;
  for (ReadLine::Client& client : clients) calls.push_back(Enter(client, 100));
  const auto later = Enter(100);
  // Each has one; three more than kTurns are taken.
  for (int i = 0; i < 3 + 40; ++i) line_.Leave(*first[i]);
  EXPECT_EQ(Turns(calls[0]), 11);
  EXPECT_EQ(Turns(calls[1]), 11);
  EXPECT_EQ(Turns(calls[2]), 11);
  EXPECT_EQ(Turns(later), 10);
}

TEST_F(ReadLineTest, WhoseTurnsHaveLastedTooLongHasNone) {
  ReadLine::Client slow;
  const auto half_messages = Enter(slow, 2);
  const auto others = Enter(3 * kTurns);
  NextEra();
  const auto next = Enter(slow, 1);
  line_.Leave(*others[0]);
  EXPECT_EQ(Turns(next), 0) << "behind those that have turns, too";
  NextEra();
  EXPECT_EQ(Turns(next), 1);
}

TEST_F(ReadLineTest, NoMoreTurnsThanThatHoweverManyConnections) {
  std::deque<ReadLine::Client> clients(kTurns + ReadLine::kOnlyTurns + 5);
  Calls calls;
  for (ReadLine::Client& client : clients) calls.push_back(Enter(client, 1).front());
  EXPECT_EQ(Turns(calls), kTurns + ReadLine::kOnlyTurns);
  for (int i = 0; i < 5; ++i) line_.Leave(*calls[i]);
  EXPECT_EQ(Turns(calls), std::ssize(clients));
}

TEST_F(ReadLineTest, ThereIsAQuarterMoreRoomForConnectionsThatHaveFew) {
  line_.SetBytesMax(0);
  Calls calls = Enter(kTurns);
  const auto enter_all = [&](ReadLine::Client& client) {
    std::int64_t entered = -1;
    do {
      ++entered;
      calls.push_back(std::make_shared<Call>());
    } while (line_.Enter(client, calls.back()).ok());
    return entered;
  };
  EXPECT_EQ(enter_all(client_), ReadLine::kWaitingMaxMin);
  const absl::Status refused = line_.Enter(client_, std::make_shared<Call>());
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the limit of 1024 calls that wait to be read is reached (--max-bytes-in-flight)");
  EXPECT_EQ(std::get<RetryLater>(*RefusalOf(refused)).delay, std::chrono::seconds(1));
  EXPECT_EQ(line_.refused(), 2U);
  std::deque<ReadLine::Client> others(20);
  for (ReadLine::Client& client : others) EXPECT_EQ(enter_all(client), 1 + kFewCalls);
}

TEST_F(ReadLineTest, AsManyWaitAsMayAndNoMore) {
  line_.SetBytesMax(0);
  std::deque<ReadLine::Client> clients(kTurns + ReadLine::kOnlyTurns +
                                       ReadLine::kWaitingMaxMin * 5 / 4);
  Calls turns;
  for (ReadLine::Client& client : clients) turns.push_back(Enter(client, 1).front());
  const auto call = std::make_shared<Call>();
  const absl::Status refused = line_.Enter(client_, call);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "the limit of 1280 calls that wait to be read is reached (--max-bytes-in-flight)");
  EXPECT_EQ(std::get<RetryLater>(*RefusalOf(refused)).delay, std::chrono::seconds(1));
  EXPECT_EQ(line_.refused(), 1U);
  line_.Leave(*turns[0]);
  EXPECT_TRUE(line_.Enter(client_, call).ok());
  line_.SetBytesMax(3000 * ReadLine::kWaitingCallBytes);
  std::deque<ReadLine::Client> more((3000 - ReadLine::kWaitingMaxMin) * 5 / 4);
  for (ReadLine::Client& client : more) Enter(client, 1);
  ReadLine::Client last;
  EXPECT_FALSE(line_.Enter(last, std::make_shared<Call>()).ok());
}

TEST_F(ReadLineTest, EachHasOneTurnWhateverComesBetween) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 20'000;
  constexpr unsigned kSeed = 4712;
  std::printf("seed %u\n", kSeed);
  std::atomic<bool> done{false};
  std::vector<Calls> calls(kThreads);
  std::array<ReadLine::Client, 3> clients;
  std::jthread passing([&] {
    while (!done) line_.Pass(milliseconds(50), kNoLag);
  });
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::minstd_rand random(kSeed + t);
        Calls here;
        for (int i = 0; i < kCalls; ++i) {
          calls[t].push_back(std::make_shared<Call>());
          here.push_back(calls[t].back());
          ASSERT_TRUE(line_.Enter(clients[random() % 3], here.back()).ok());
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
