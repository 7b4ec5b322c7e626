#include "server/core/lookout.h"

#include <deque>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/scheduler.h"
#include "tests/server/fake_device.h"

namespace warpfold {
namespace {

constexpr auto kNever = Lookout::Clock::time_point::max();
constexpr auto kLongPast = Lookout::Clock::time_point::min();

TEST(LookoutTest, ACallEndsTheLookOfWhoKeepsIt) {
  Lookout lookout;
  EXPECT_FALSE(lookout.Call()) << "nobody looks";
  const auto kept = lookout.Keep();
  EXPECT_TRUE(lookout.is_kept());
  std::thread looker([&] { lookout.Look(kept, kNever); });
  EXPECT_TRUE(lookout.Call());
  EXPECT_FALSE(lookout.is_kept()) << "the next one to come has to be told otherwise";
  EXPECT_FALSE(lookout.Call());
  looker.join();
}

TEST(LookoutTest, ACallBeforeTheLookBeginsIsSeen) {
  Lookout lookout;
  const auto kept = lookout.Keep();
  EXPECT_TRUE(lookout.Call());
  lookout.Look(kept, kNever);
}

TEST(LookoutTest, WhoLooksInVainLeavesAndWhoWasCalledLeavesTheNextOneAlone) {
  Lookout lookout;
  const auto first = lookout.Keep();
  lookout.Look(first, kLongPast);
  lookout.Leave(first);
  EXPECT_FALSE(lookout.is_kept());
  const auto called = lookout.Keep();
  EXPECT_TRUE(lookout.Call());
  const auto next = lookout.Keep();
  lookout.Leave(called);
  EXPECT_TRUE(lookout.is_kept());
  lookout.Leave(next);
  EXPECT_FALSE(lookout.is_kept());
}

// Lanes that look and lanes that sleep, more works than lanes and fewer: none is forgotten.
TEST(LookingLanesTest, EveryWorkIsDoneAndADrainEndsThemAll) {
  FakeDevice device;
  const auto scheduler = *DeviceScheduler::Create(
      device, {.lanes = 3, .queue_depth_max = 1 << 20, .look_max = std::chrono::hours(1)});
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t) {
    submitters.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::deque<FakeWork> works;
        for (int w = 0; w <= i % 3; ++w) works.emplace_back(10);
        for (FakeWork& work : works) ASSERT_TRUE(scheduler->Submit(&work).ok());
        for (FakeWork& work : works) EXPECT_EQ(Sum(work.Await()), 55);
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  EXPECT_EQ(scheduler->state().queued, 0);
  EXPECT_EQ(scheduler->state().lanes_in_use, 0);
}

}  // namespace
}  // namespace warpfold
