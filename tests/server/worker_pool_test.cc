// The threads of a device, alone, against plain models: every task ends once, whatever is pushed,
// taken back, lost or drained, and turns come in their order.
#include "server/core/scheduling/worker_pool.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "tests/kernels/effort.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_task.h"

namespace warpfold {
namespace {

using PoolClock = std::chrono::steady_clock;

std::vector<std::unique_ptr<Worker>> WorkersOf(FakeDevice& device, int count) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < count; ++i) workers.push_back(*device.MakeWorker());
  return workers;
}

void ExpectEveryTaskEndsOnce(unsigned seed) {
  SCOPED_TRACE(seed);
  FakeDevice device;
  constexpr int kTasks = 50'000;
  std::deque<CountedTask> tasks;
  for (int i = 0; i < kTasks; ++i) tasks.emplace_back(1, /*is_sending=*/i % 3 == 0);
  std::atomic<int> clients{0};
  std::atomic<bool> too_many{false};
  std::set<const Task*> removed;
  {
    WorkerPool pool(WorkersOf(device, 4), std::chrono::microseconds(20),
                    [&](Worker& /*worker*/, const WorkerRun& run, Patience /*patience*/) {
                      const bool is_client = run.task().waits_for_client;
                      if (is_client && clients.fetch_add(1) >= 3) too_many = true;
                      std::this_thread::yield();
                      if (is_client) clients.fetch_sub(1);
                      return TaskReport();
                    });
    std::mt19937 random(seed);
    std::vector<QueuedTask> taken;
    for (int i = 0; i < kTasks; ++i) {
      pool.Push(Queued(tasks[static_cast<std::size_t>(i)]));
      if (random() % 4 == 0) {
        const Task* task = &tasks[random() % static_cast<unsigned>(i + 1)];
        if (pool.Remove(task)) {
          ASSERT_TRUE(removed.insert(task).second);
        }
      }
      if (random() % 5000 == 0) pool.TakeAll(taken);
    }
    for (const QueuedTask& queued : taken) ASSERT_TRUE(removed.insert(queued.task).second);
    EXPECT_EQ(pool.state().threads, 4);
    pool.Drain();
  }
  EXPECT_FALSE(too_many) << "no thread was kept for those whose bytes are here";
  for (const CountedTask& task : tasks) {
    ASSERT_EQ(task.ends(), removed.count(&task) > 0 ? 0 : 1);
  }
}

TEST(WorkerPoolTest, EveryTaskEndsOnceUnderPushesRemovesLossAndDrain) {
  constexpr unsigned kSeed = 3;
  const auto rounds = static_cast<unsigned>(testing::Rounds(1));
  for (unsigned round = 0; round < rounds && !HasFatalFailure(); ++round) {
    ExpectEveryTaskEndsOnce(kSeed + round);
  }
}

// A task of so many turns, each of which its client has to bring something for.
class ParkedTask final : public OwnedTask, private PayloadSource {
 public:
  explicit ParkedTask(int turns, bool is_sending = true) : turns_(turns) {
    payload = this;
    waits_for_client = is_sending;
  }

  // As a client, whose bytes may wake the task.
  void Bring() {
    std::function<void()> wake;
    {
      absl::MutexLock lock(&mutex_);
      ++here_;
      wake = std::exchange(wake_, nullptr);
    }
    if (wake) wake();
  }
  // As a worker's thread: true when it was the last turn, false when the next one is not here.
  bool Turn() {
    absl::MutexLock lock(&mutex_);
    while (taken_ < turns_ && taken_ < here_) ++taken_;
    return taken_ == turns_;
  }
  int ends() const { return ends_; }

  void OnDone(TaskReport /*report*/) override { ends_.fetch_add(1); }

 private:
  bool WakeWhenHere(std::size_t /*byte_count*/, std::function<void()>&& wake) override {
    absl::MutexLock lock(&mutex_);
    if (taken_ < here_) return false;
    wake_ = std::move(wake);
    return true;
  }
  absl::Status ReadInto(absl::Span<std::byte> /*out*/) override { return absl::OkStatus(); }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

  const int turns_;
  absl::Mutex mutex_;
  int here_ ABSL_GUARDED_BY(mutex_) = 0;
  int taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> ends_{0};
};

// Clients bring things at any moment, some tasks are taken back, the device may be lost.
TEST(WorkerPoolTest, ParkedTasksTakeTheirTurnsAndEndOnce) {
  constexpr unsigned kSeed = 6;
  for (unsigned round = 0; round < 100; ++round) {
    SCOPED_TRACE(kSeed + round);
    std::mt19937 random(kSeed + round);
    FakeDevice device;
    std::deque<ParkedTask> tasks;
    for (int i = 0; i < 200; ++i) tasks.emplace_back(static_cast<int>(random() % 6));
    std::set<const Task*> removed;
    {
      WorkerPool pool(WorkersOf(device, 3), std::chrono::microseconds(round % 2 * 20),
                      [](Worker& /*worker*/, WorkerRun& run, Patience /*patience*/) {
                        const bool is_over = static_cast<ParkedTask&>(run.task()).Turn();
                        return is_over ? std::optional<TaskReport>(TaskReport()) : std::nullopt;
                      });
      for (ParkedTask& task : tasks) pool.Push({&task, PoolClock::now()});
      std::vector<std::jthread> clients;
      for (unsigned c = 0; c < 2; ++c) {
        clients.emplace_back([&, seed = random()] {
          std::mt19937 any(seed);
          for (int i = 0; i < 6; ++i) {
            const std::size_t first = any() % tasks.size();
            for (std::size_t k = 0; k < tasks.size(); ++k) {
              tasks[(first + k) % tasks.size()].Bring();
            }
          }
        });
      }
      for (int i = 0; i < 20; ++i) {
        const Task* task = &tasks[random() % tasks.size()];
        if (pool.Remove(task)) {
          ASSERT_TRUE(removed.insert(task).second);
        }
      }
      if (round % 3 == 0) {
        std::vector<QueuedTask> taken;
        pool.TakeAll(taken);
        for (const QueuedTask& queued : taken) ASSERT_TRUE(removed.insert(queued.task).second);
      }
      if (round % 2 == 0) pool.Drain();  // while some wait for their clients
      clients.clear();
    }
    for (const ParkedTask& task : tasks) {
      ASSERT_EQ(task.ends(), removed.count(&task) > 0 ? 0 : 1);
    }
  }
}

// A pool of one thread, whose every turn waits until the test lets it go.
class SteppedPool {
 public:
  explicit SteppedPool(FakeDevice& device)
      : pool_(WorkersOf(device, 1), std::chrono::microseconds(0),
              [this](Worker& /*worker*/, WorkerRun& run, Patience /*patience*/) {
                auto& task = static_cast<ParkedTask&>(run.task());
                const bool is_over = task.Turn();
                const auto ends = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
                  return running_ == nullptr || is_over_;
                };
                absl::MutexLock lock(&mutex_);
                running_ = &task;
                mutex_.Await(absl::Condition(&ends));
                return is_over ? std::optional<TaskReport>(TaskReport()) : std::nullopt;
              }) {}

  // What waits is left.
  ~SteppedPool() {
    {
      absl::MutexLock lock(&mutex_);
      is_over_ = true;
    }
    while (pool_.state().waiting + pool_.state().running > 0) std::this_thread::yield();
    std::vector<QueuedTask> taken;
    pool_.TakeAll(taken);
  }

  WorkerPool& pool() { return pool_; }
  // The task whose turn it is.
  ParkedTask* AwaitTurn() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](ParkedTask** running) { return *running != nullptr; }, &running_));
    return running_;
  }
  void EndTurn() {
    absl::MutexLock lock(&mutex_);
    running_ = nullptr;
  }
  // Until the thread waits for the next task.
  void AwaitIdle() const {
    while (pool_.state().running > 0) std::this_thread::yield();
  }

 private:
  absl::Mutex mutex_;
  ParkedTask* running_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  WorkerPool pool_;  // last: its thread uses the above
};

TEST(WorkerPoolTest, WhatComesBackGoesBeforeWhatHasNotBegunEveryOtherTurn) {
  FakeDevice device;
  std::deque<ParkedTask> pausing;
  std::deque<ParkedTask> new_ones;
  SteppedPool stepped(device);
  for (int i = 0; i < 3; ++i) {
    stepped.pool().Push(Queued(pausing.emplace_back(1)));
    EXPECT_EQ(stepped.AwaitTurn(), &pausing.back());
    stepped.EndTurn();
    stepped.AwaitIdle();
  }
  for (int i = 0; i < 100; ++i) stepped.pool().Push(Queued(new_ones.emplace_back(0)));
  EXPECT_EQ(stepped.AwaitTurn(), &new_ones[0]);
  for (ParkedTask& task : pausing) task.Bring();
  std::deque<ParkedTask*> order = {&new_ones[0], &pausing[0],  &new_ones[1],
                                   &pausing[1],  &new_ones[2], &pausing[2]};
  for (std::size_t i = 3; i < new_ones.size(); ++i) order.push_back(&new_ones[i]);
  for (ParkedTask* const next : order) {
    ASSERT_EQ(stepped.AwaitTurn(), next);
    stepped.EndTurn();
  }
}

// Pushes, removes and returns between two turns of one thread: the next one is the model's.
void ExpectTurnsOfTheModel(unsigned seed) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  FakeDevice device;
  std::deque<ParkedTask> tasks;
  std::vector<int> missing;  // turns, by task
  std::deque<std::size_t> new_ones;
  std::deque<std::size_t> resumed;
  std::vector<std::size_t> parked;
  bool last_was_resumed = false;
  SteppedPool stepped(device);
  const auto push = [&] {
    missing.push_back(static_cast<int>(random() % 4));
    tasks.emplace_back(missing.back(),
                       /*is_sending=*/missing.back() > 0 || random() % 2 == 0);
    new_ones.push_back(tasks.size() - 1);
    // Its own clock: no two of them come at the same time.
    stepped.pool().Push({&tasks.back(), PoolClock::time_point(PoolClock::duration(tasks.size()))});
  };
  for (int step = 0; step < 2000 || !new_ones.empty() || !resumed.empty(); ++step) {
    const bool is_last_part = step >= 2000;  // nothing more comes
    if (new_ones.empty() && resumed.empty()) push();
    const bool takes_resumed = !resumed.empty() && (new_ones.empty() || !last_was_resumed);
    std::deque<std::size_t>& from = takes_resumed ? resumed : new_ones;
    const std::size_t turn = from.front();
    from.pop_front();
    last_was_resumed = takes_resumed;
    ASSERT_EQ(stepped.AwaitTurn(), &tasks[turn]) << "step " << step;
    for (unsigned i = random() % 3; i > 0 && !is_last_part; --i) push();
    for (unsigned i = random() % 4; i > 0 && !is_last_part && !parked.empty(); --i) {
      std::swap(parked[random() % parked.size()], parked.back());
      resumed.push_back(parked.back());
      --missing[parked.back()];
      tasks[parked.back()].Bring();
      parked.pop_back();
    }
    if (random() % 8 == 0 && !new_ones.empty()) {
      const auto place = new_ones.begin() + static_cast<std::ptrdiff_t>(random() % new_ones.size());
      ASSERT_TRUE(stepped.pool().Remove(&tasks[*place]));
      new_ones.erase(place);
    }
    if (missing[turn] > 0) parked.push_back(turn);
    stepped.EndTurn();
    // Parked before the next thing happens to it.
    if (new_ones.empty() && resumed.empty()) stepped.AwaitIdle();
  }
  std::vector<QueuedTask> taken;
  stepped.pool().TakeAll(taken);
  EXPECT_EQ(taken.size(), parked.size());
}

TEST(WorkerPoolTest, TurnsAreTheModelsUnderAnySchedule) {
  constexpr unsigned kSeed = 7;
  const auto rounds = static_cast<unsigned>(testing::Rounds(10));
  for (unsigned round = 0; round < rounds && !HasFatalFailure(); ++round) {
    ExpectTurnsOfTheModel(kSeed + round);
  }
}

}  // namespace
}  // namespace warpfold
