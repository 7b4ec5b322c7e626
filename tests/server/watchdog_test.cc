#include "server/core/base/watchdog.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace warpfold {
namespace {

using std::chrono::milliseconds;

class Waiting final : public Watched {
 public:
  std::atomic<int> overdue{0};
  std::int64_t holds_bytes = 0;
  bool gives_way = true;
  std::atomic<bool> has_gone{false};

 private:
  void OnOverdue() override { ++overdue; }
  bool GiveWay(Shortage& shortage) override {
    if (!gives_way) return false;
    has_gone = true;
    shortage.bytes -= holds_bytes;
    --shortage.calls;
    return true;
  }
};

class WatchdogTest : public ::testing::Test {
 protected:
  std::shared_ptr<Waiting> Add() {
    auto waiting = std::make_shared<Waiting>();
    watchdog_.Add(*waiting);
    return waiting;
  }

  // One that others may end after `after`, which frees 10 bytes.
  std::shared_ptr<Waiting> AddHolder(milliseconds after) {
    std::shared_ptr<Waiting> holder = Add();
    holder->holds_bytes = 10;
    watchdog_.GivesWayIn(*holder, after);
    return holder;
  }

  Shortage missing_;
  Watchdog watchdog_{milliseconds(0), [this] { return std::exchange(missing_, {}); }};
};

TEST_F(WatchdogTest, TellsOnceWhenTheTimeHasPassed) {
  const std::shared_ptr<Waiting> waiting = Add();
  watchdog_.DueIn(*waiting, milliseconds(100));
  watchdog_.Advance(milliseconds(99));
  EXPECT_EQ(waiting->overdue, 0);
  watchdog_.Advance(milliseconds(1));
  EXPECT_EQ(waiting->overdue, 1);
  watchdog_.Advance(milliseconds(1000));
  EXPECT_EQ(waiting->overdue, 1);
  watchdog_.DueIn(*waiting, milliseconds(10));
  watchdog_.Advance(milliseconds(10));
  EXPECT_EQ(waiting->overdue, 2);
  watchdog_.Remove(*waiting);
}

TEST_F(WatchdogTest, TheLastWordCounts) {
  const std::shared_ptr<Waiting> waiting = Add();
  watchdog_.DueIn(*waiting, milliseconds(10));
  watchdog_.DueIn(*waiting, milliseconds(100));
  watchdog_.Advance(milliseconds(50));
  EXPECT_EQ(waiting->overdue, 0);
  watchdog_.NotDue(*waiting);
  watchdog_.Advance(milliseconds(1000));
  EXPECT_EQ(waiting->overdue, 0);
  watchdog_.Remove(*waiting);
}

TEST_F(WatchdogTest, WhatHasGoneIsNotTold) {
  std::shared_ptr<Waiting> gone = Add();
  const std::shared_ptr<Waiting> waiting = Add();
  for (const auto& each : {gone, waiting}) watchdog_.DueIn(*each, milliseconds(1));
  watchdog_.Remove(*gone);
  watchdog_.Advance(milliseconds(1));
  EXPECT_EQ(gone->overdue, 0);
  EXPECT_EQ(waiting->overdue, 1);
  watchdog_.Remove(*waiting);
}

TEST_F(WatchdogTest, WhoWaitsLongestGivesWayAndNoMoreThanIsMissing) {
  const std::shared_ptr<Waiting> third = AddHolder(milliseconds(30));
  const std::shared_ptr<Waiting> first = AddHolder(milliseconds(10));
  const std::shared_ptr<Waiting> second = AddHolder(milliseconds(20));
  const std::shared_ptr<Waiting> young = AddHolder(milliseconds(1000));
  const std::shared_ptr<Waiting> never = Add();
  const auto gone = [&] {
    std::vector<bool> each;
    for (const auto& holder : {first, second, third, young, never}) {
      each.push_back(holder->has_gone);
    }
    return each;
  };
  missing_.bytes = 1;
  watchdog_.Advance(milliseconds(9));
  EXPECT_EQ(gone(), std::vector<bool>(5)) << "too early";
  watchdog_.Advance(milliseconds(100));
  EXPECT_EQ(gone(), std::vector<bool>(5)) << "nobody misses anything any more";
  missing_.bytes = 11;
  watchdog_.Advance(milliseconds(1));
  EXPECT_EQ(gone(), (std::vector<bool>{true, true, false, false, false}));
  first->has_gone = false;
  missing_.bytes = 1000;
  watchdog_.Advance(milliseconds(1));
  EXPECT_EQ(gone(), (std::vector<bool>{false, true, true, false, false})) << "each once";
  for (const auto& each : {first, second, third, young, never}) {
    EXPECT_EQ(each->overdue, 0);
    watchdog_.Remove(*each);
  }
}

TEST_F(WatchdogTest, WhoDoesNotGiveWayIsAskedAgain) {
  const std::shared_ptr<Waiting> first = AddHolder(milliseconds(10));
  const std::shared_ptr<Waiting> second = AddHolder(milliseconds(20));
  first->gives_way = false;
  missing_.calls = 1;
  watchdog_.Advance(milliseconds(100));
  EXPECT_FALSE(first->has_gone);
  EXPECT_TRUE(second->has_gone);
  first->gives_way = true;
  missing_.calls = 1;
  watchdog_.Advance(milliseconds(1));
  EXPECT_TRUE(first->has_gone);
  for (const auto& each : {first, second}) watchdog_.Remove(*each);
}

TEST_F(WatchdogTest, UrgentCallsGiveWayASecondBeforeTheirTime) {
  const std::shared_ptr<Waiting> old = AddHolder(milliseconds(10));
  const std::shared_ptr<Waiting> young = AddHolder(milliseconds(1100));
  const std::shared_ptr<Waiting> younger = AddHolder(milliseconds(1110));
  const std::shared_ptr<Waiting> late = AddHolder(milliseconds(1111));
  const auto gone = [&] {
    return std::vector<bool>{old->has_gone, young->has_gone, younger->has_gone, late->has_gone};
  };
  missing_ = {.calls = 4, .urgent_calls = 1};
  watchdog_.Advance(milliseconds(110));
  EXPECT_EQ(gone(), (std::vector<bool>{true, false, false, false})) << "one is enough";
  missing_ = {.bytes = 1000, .calls = 4};
  watchdog_.Advance(milliseconds(0));
  EXPECT_EQ(gone(), (std::vector<bool>{true, false, false, false})) << "nothing is urgent";
  missing_ = {.bytes = 1000, .calls = 4, .urgent_calls = 4};
  watchdog_.Advance(milliseconds(0));
  EXPECT_EQ(gone(), (std::vector<bool>{true, true, true, false}));
  for (const auto& each : {old, young, younger, late}) watchdog_.Remove(*each);
}

TEST_F(WatchdogTest, WhoMayHaveWaitedForTheServerGivesWayLater) {
  const std::shared_ptr<Waiting> old = AddHolder(milliseconds(0));
  const std::shared_ptr<Waiting> young = AddHolder(milliseconds(1050));
  const auto gone = [&] { return std::vector<bool>{old->has_gone, young->has_gone}; };
  missing_ = {.bytes = 1, .calls = 2, .grace = milliseconds(200)};
  watchdog_.Advance(milliseconds(199));
  EXPECT_EQ(gone(), (std::vector<bool>{false, false}));
  missing_ = {.bytes = 1, .calls = 2, .grace = milliseconds(200)};
  watchdog_.Advance(milliseconds(1));
  EXPECT_EQ(gone(), (std::vector<bool>{true, false}));
  missing_ = {.calls = 1, .urgent_calls = 1, .grace = milliseconds(200)};
  watchdog_.Advance(milliseconds(49));
  EXPECT_EQ(gone(), (std::vector<bool>{true, false}));
  missing_ = {.calls = 1, .urgent_calls = 1, .grace = milliseconds(200)};
  watchdog_.Advance(milliseconds(1));
  EXPECT_EQ(gone(), (std::vector<bool>{true, true})) << "a second before its time, and the grace";
  for (const auto& each : {old, young}) watchdog_.Remove(*each);
}

TEST(WatchdogThreadTest, LooksByItself) {
  class Told final : public Watched {
   public:
    absl::Notification overdue;

   private:
    void OnOverdue() override { overdue.Notify(); }
  };
  Watchdog watchdog(milliseconds(1));
  const auto told = std::make_shared<Told>();
  watchdog.Add(*told);
  watchdog.DueIn(*told, milliseconds(1));
  told->overdue.WaitForNotification();
  watchdog.Remove(*told);
}

// A watched object may end on any thread while the watchdog looks at it.
TEST(WatchdogThreadTest, CallsComeAndGoBesideIt) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 20'000;
  constexpr unsigned kSeed = 4711;
  std::printf("seed %u\n", kSeed);
  Watchdog watchdog(milliseconds(0), [] { return Shortage{.bytes = 1, .calls = 1}; });
  std::atomic<bool> done{false};
  std::jthread looking([&] {
    while (!done) watchdog.Advance(milliseconds(1));
  });
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&watchdog, t] {
      std::minstd_rand random(kSeed + t);
      std::vector<std::shared_ptr<Waiting>> calls;
      for (int i = 0; i < kCalls; ++i) {
        calls.push_back(std::make_shared<Waiting>());
        watchdog.Add(*calls.back());
        watchdog.DueIn(*calls.back(), milliseconds(random() % 3));
        watchdog.GivesWayIn(*calls.back(), milliseconds(random() % 3));
        std::swap(calls[random() % calls.size()], calls.back());
        if (calls.size() < 32) continue;
        watchdog.Remove(*calls.back());
        EXPECT_LE(calls.back()->overdue, 1);
        calls.pop_back();
      }
      for (const auto& call : calls) watchdog.Remove(*call);
    });
  }
  threads.clear();
  done = true;
}

}  // namespace
}  // namespace warpfold
