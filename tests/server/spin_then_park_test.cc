#include "server/core/base/spin_then_park.h"

#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "server/core/scheduling/scheduler.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_task.h"

namespace warpfold {
namespace {

using Clock = SpinThenPark::Clock;
constexpr auto kForEver = Clock::time_point::max();
constexpr auto kNotAtAll = Clock::time_point::min();

// Threads that wait for a count to reach one of theirs.
struct Queue {
  absl::Mutex mutex;
  SpinThenPark idle;
  int items ABSL_GUARDED_BY(mutex) = 0;
  int waiting ABSL_GUARDED_BY(mutex) = 0;

  void Take(Clock::time_point spin_until) {
    absl::MutexLock lock(&mutex);
    ++waiting;
    while (items == 0) idle.Wait(mutex, spin_until);
    --items;
    --waiting;
  }
  void AwaitWaiting(int count) {
    const auto has = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex) { return waiting >= count; };
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&has));
  }
  int Left() {
    absl::MutexLock lock(&mutex);
    return items;
  }
  void Put() {
    absl::MutexLock lock(&mutex);
    ++items;
    idle.WakeOne();
  }
};

TEST(SpinThenParkTest, AWakeEndsTheWaitOfASpinnerAndOfAParkedThread) {
  for (const Clock::time_point spin_until : {kForEver, kNotAtAll}) {
    Queue queue;
    std::jthread taker([&] { queue.Take(spin_until); });
    queue.AwaitWaiting(1);
    queue.Put();
    taker.join();
    EXPECT_EQ(queue.Left(), 0);
  }
}

TEST(SpinThenParkTest, EachWakeIsForOneThreadWhetherItSpinsOrParks) {
  Queue queue;
  std::vector<std::jthread> takers;
  for (int i = 0; i < 6; ++i) {
    takers.emplace_back([&, i] { queue.Take(i % 2 == 0 ? kForEver : kNotAtAll); });
  }
  queue.AwaitWaiting(6);
  for (int i = 0; i < 6; ++i) queue.Put();
  takers.clear();
  EXPECT_EQ(queue.Left(), 0);
}

// One who is taken to spin on would be woken in vain.
TEST(SpinThenParkTest, WhoSpunInVainParksAndIsWoken) {
  for (int round = 0; round < 200; ++round) {
    Queue queue;
    std::jthread taker([&] { queue.Take(Clock::now() + std::chrono::microseconds(round)); });
    queue.AwaitWaiting(1);
    for (int i = 0; i < round; ++i) std::this_thread::yield();
    queue.Put();
    taker.join();
    EXPECT_EQ(queue.Left(), 0);
  }
}

TEST(SpinThenParkTest, WakeAllWakesSpinnersAndParkedThreads) {
  Queue queue;
  std::vector<std::jthread> takers;
  for (int i = 0; i < 6; ++i) {
    takers.emplace_back([&, i] { queue.Take(i % 2 == 0 ? kForEver : kNotAtAll); });
  }
  queue.AwaitWaiting(6);
  {
    absl::MutexLock lock(&queue.mutex);
    queue.items = 6;
    queue.idle.WakeAll();
  }
  takers.clear();
  EXPECT_EQ(queue.Left(), 0);
}

// Threads that spin and threads that are parked, more tasks than threads and fewer: none is
// forgotten.
TEST(SpinningWorkersTest, EveryTaskIsDoneAndADrainEndsThemAll) {
  FakeDevice device;
  const auto scheduler = *DeviceScheduler::Create(
      device, {.workers = 3, .queue_depth_max = 1 << 20, .spin_max = std::chrono::hours(1)});
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t) {
    submitters.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::deque<FakeTask> tasks;
        for (int w = 0; w <= i % 3; ++w) tasks.emplace_back(10);
        for (FakeTask& task : tasks) ASSERT_TRUE(scheduler->Submit(&task).ok());
        for (FakeTask& task : tasks) EXPECT_EQ(Sum(task.Await()), 55);
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  EXPECT_EQ(scheduler->state().queued, 0);
  EXPECT_EQ(scheduler->state().workers_in_use, 0);
}

}  // namespace
}  // namespace warpfold
