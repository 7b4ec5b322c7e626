// The parts of a device's scheduler, each alone, against a plain model: random schedules of push,
// take, remove, drain and loss, in which every work ends once.
#include <algorithm>
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

#include "gtest/gtest.h"
#include "server/core/batch_completer.h"
#include "server/core/batcher.h"
#include "server/core/device_scheduler.h"
#include "server/core/work_fifo.h"
#include "server/core/worker_pool.h"
#include "server/device/device_error.h"
#include "tests/kernels/effort.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_work.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

QueuedWork Queued(Work& work) { return {&work, Clock::now()}; }

// A work that counts its ends.
class CountedWork final : public Work {
 public:
  CountedWork(std::int64_t count, bool waits_for_client, bool has_more_behind = false)
      : payload_(count, nullptr),
        waits_for_client_(waits_for_client),
        has_more_behind_(has_more_behind) {
    plan_ = *MakePlan({.dtype = DType::kI64, .shape = {count}, .ops = {Op::kSum}, .axes = {}});
  }
  const Plan& plan() const override { return plan_; }
  PayloadSource& payload() override { return payload_; }
  bool waits_for_client() const override { return waits_for_client_; }
  bool may_run_inline() const override { return !waits_for_client_; }
  bool has_more_behind() const override { return has_more_behind_; }
  void Done(WorkReport /*report*/) override { ends_.fetch_add(1); }
  int ends() const { return ends_; }

 private:
  Plan plan_;
  FakePayload payload_;
  const bool waits_for_client_;
  const bool has_more_behind_;
  std::atomic<int> ends_{0};
};

TEST(WorkFifoTest, IsAModelsDequeUnderAnySchedule) {
  constexpr unsigned kSeed = 1;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::deque<FakeWork> works(64);
  WorkFifo fifo;
  std::deque<Work*> model;
  for (int step = 0; step < 1'000'000; ++step) {
    FakeWork& work = works[random() % works.size()];
    const auto place = std::find(model.begin(), model.end(), &work);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        if (place != model.end()) break;
        fifo.Push({&work, {}});
        model.push_back(&work);
        break;
      case 3:
      case 4:
        if (model.empty()) break;
        ASSERT_EQ(fifo.front().work, model.front());
        ASSERT_EQ(fifo.Pop().work, model.front());
        model.pop_front();
        break;
      case 5:
      case 6:
        ASSERT_EQ(fifo.Remove(&work), place != model.end());
        if (place != model.end()) model.erase(place);
        break;
      default:
        if (random() % 1000 != 0) break;
        std::vector<QueuedWork> taken;
        fifo.TakeAll(taken);
        ASSERT_EQ(taken.size(), model.size());
        for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_EQ(taken[i].work, model[i]);
        model.clear();
    }
    ASSERT_EQ(fifo.size(), model.size());
    ASSERT_EQ(fifo.empty(), model.empty());
  }
}

TEST(BatcherTest, FormsTheOldestUpToItsLimitsWhileALaneIsFree) {
  constexpr unsigned kSeed = 2;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  FakeDevice device;
  const BatchLimits limits{.tensors = 5, .bytes = 100};
  device.fake_batches().BatchUpTo(1 << 20, limits);
  std::vector<std::unique_ptr<BatchLane>> lanes;
  for (int i = 0; i < 3; ++i) lanes.push_back(*device.MakeBatchLane());
  Batcher batcher(limits, std::move(lanes));
  std::deque<FakeWork> works;
  for (int i = 0; i < 40; ++i) works.emplace_back(i % 17);
  std::deque<FakeWork*> model;
  std::vector<std::unique_ptr<BatchRun>> runs;
  std::set<const Work*> running;
  for (int step = 0; step < 1'000'000; ++step) {
    FakeWork& work = works[random() % works.size()];
    const auto place = std::find(model.begin(), model.end(), &work);
    switch (random() % 4) {
      case 0:
      case 1:
        if (place != model.end() || running.count(&work) > 0) break;
        batcher.Push({&work, {}});
        model.push_back(&work);
        break;
      case 2:
        ASSERT_EQ(batcher.Remove(&work), place != model.end());
        if (place != model.end()) model.erase(place);
        break;
      default:
        if (runs.empty()) break;
        std::swap(runs[random() % runs.size()], runs.back());
        for (const QueuedWork& queued : runs.back()->works()) running.erase(queued.work);
        batcher.GiveBack(runs.back()->lane());
        runs.pop_back();
    }
    std::unique_ptr<BatchRun> run = batcher.Form();
    ASSERT_EQ(run == nullptr, model.empty() || runs.size() == 3);
    if (run != nullptr) {
      std::size_t bytes = 0;
      for (const QueuedWork& queued : run->works()) {
        ASSERT_EQ(queued.work, model.front());
        model.pop_front();
        running.insert(queued.work);
        bytes += static_cast<std::size_t>(queued.work->plan().input_bytes);
      }
      ASSERT_LE(run->works().size(), 5U);
      ASSERT_TRUE(bytes <= limits.bytes || run->works().size() == 1);
      const bool is_full =
          run->works().size() == 5 || model.empty() ||
          bytes + static_cast<std::size_t>(model.front()->plan().input_bytes) > limits.bytes;
      ASSERT_TRUE(is_full) << "it left one that fits";
      runs.push_back(std::move(run));
    }
    ASSERT_EQ(batcher.waiting(), model.size());
    ASSERT_EQ(batcher.is_idle(), runs.empty());
    ASSERT_EQ(batcher.has_free_lane(), runs.size() < 3);
  }
}

std::vector<std::unique_ptr<Lane>> LanesOf(FakeDevice& device, int count) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(*device.MakeLane());
  return lanes;
}

void ExpectEveryWorkEndsOnce(unsigned seed) {
  SCOPED_TRACE(seed);
  FakeDevice device;
  constexpr int kWorks = 50'000;
  std::deque<CountedWork> works;
  for (int i = 0; i < kWorks; ++i) works.emplace_back(1, /*waits_for_client=*/i % 3 == 0);
  std::atomic<int> clients{0};
  std::atomic<bool> too_many{false};
  std::set<const Work*> removed;
  {
    WorkerPool pool(LanesOf(device, 4), std::chrono::microseconds(20),
                    [&](Lane& /*lane*/, const LaneRun& run, Patience /*patience*/) {
                      const bool is_client = run.work().waits_for_client();
                      if (is_client && clients.fetch_add(1) >= 3) too_many = true;
                      std::this_thread::yield();
                      if (is_client) clients.fetch_sub(1);
                      return WorkReport();
                    });
    std::mt19937 random(seed);
    std::vector<QueuedWork> taken;
    for (int i = 0; i < kWorks; ++i) {
      pool.Push(Queued(works[static_cast<std::size_t>(i)]));
      if (random() % 4 == 0) {
        const Work* work = &works[random() % static_cast<unsigned>(i + 1)];
        if (pool.Remove(work)) {
          ASSERT_TRUE(removed.insert(work).second);
        }
      }
      if (random() % 5000 == 0) pool.TakeAll(taken);
    }
    for (const QueuedWork& queued : taken) ASSERT_TRUE(removed.insert(queued.work).second);
    EXPECT_EQ(pool.state().threads, 4);
    pool.Drain();
  }
  EXPECT_FALSE(too_many) << "no thread was kept for those whose bytes are here";
  for (const CountedWork& work : works) {
    ASSERT_EQ(work.ends(), removed.count(&work) > 0 ? 0 : 1);
  }
}

TEST(WorkerPoolTest, EveryWorkEndsOnceUnderPushesRemovesLossAndDrain) {
  constexpr unsigned kSeed = 3;
  const auto rounds = static_cast<unsigned>(testing::Rounds(1));
  for (unsigned round = 0; round < rounds && !HasFatalFailure(); ++round) {
    ExpectEveryWorkEndsOnce(kSeed + round);
  }
}

// A work of so many turns, each of which its client has to bring something for.
class ParkedWork final : public Work, private PayloadSource {
 public:
  explicit ParkedWork(int turns) : turns_(turns) {}

  // As a client, whose bytes may wake the work.
  void Bring() {
    std::function<void()> wake;
    {
      absl::MutexLock lock(&mutex_);
      ++here_;
      wake = std::exchange(wake_, nullptr);
    }
    if (wake) wake();
  }
  // As a lane's thread: true when it was the last turn, false when the next one is not here.
  bool Turn() {
    absl::MutexLock lock(&mutex_);
    while (taken_ < turns_ && taken_ < here_) ++taken_;
    return taken_ == turns_;
  }
  int ends() const { return ends_; }

  const Plan& plan() const override { return plan_; }
  PayloadSource& payload() override { return *this; }
  bool waits_for_client() const override { return true; }
  void Done(WorkReport /*report*/) override { ends_.fetch_add(1); }

 private:
  bool WakeWhenHere(std::size_t /*byte_count*/, std::function<void()>&& wake) override {
    absl::MutexLock lock(&mutex_);
    if (taken_ < here_) return false;
    wake_ = std::move(wake);
    return true;
  }
  absl::Status ReadInto(absl::Span<std::byte> /*out*/) override { return absl::OkStatus(); }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

  const Plan plan_;
  const int turns_;
  absl::Mutex mutex_;
  int here_ ABSL_GUARDED_BY(mutex_) = 0;
  int taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> ends_{0};
};

// Clients bring things at any moment, some works are taken back, the device may be lost.
TEST(WorkerPoolTest, ParkedWorksTakeTheirTurnsAndEndOnce) {
  constexpr unsigned kSeed = 6;
  for (unsigned round = 0; round < 100; ++round) {
    SCOPED_TRACE(kSeed + round);
    std::mt19937 random(kSeed + round);
    FakeDevice device;
    std::deque<ParkedWork> works;
    for (int i = 0; i < 200; ++i) works.emplace_back(static_cast<int>(random() % 6));
    std::set<const Work*> removed;
    {
      WorkerPool pool(LanesOf(device, 3), std::chrono::microseconds(round % 2 * 20),
                      [](Lane& /*lane*/, LaneRun& run, Patience /*patience*/) {
                        const bool is_over = dynamic_cast<ParkedWork&>(run.work()).Turn();
                        return is_over ? std::optional<WorkReport>(WorkReport()) : std::nullopt;
                      });
      for (ParkedWork& work : works) pool.Push({&work, Clock::now()});
      std::vector<std::jthread> clients;
      for (unsigned c = 0; c < 2; ++c) {
        clients.emplace_back([&, seed = random()] {
          std::mt19937 any(seed);
          for (int i = 0; i < 6; ++i) {
            const std::size_t first = any() % works.size();
            for (std::size_t k = 0; k < works.size(); ++k) {
              works[(first + k) % works.size()].Bring();
            }
          }
        });
      }
      for (int i = 0; i < 20; ++i) {
        const Work* work = &works[random() % works.size()];
        if (pool.Remove(work)) {
          ASSERT_TRUE(removed.insert(work).second);
        }
      }
      if (round % 3 == 0) {
        std::vector<QueuedWork> taken;
        pool.TakeAll(taken);
        for (const QueuedWork& queued : taken) ASSERT_TRUE(removed.insert(queued.work).second);
      }
      if (round % 2 == 0) pool.Drain();  // while some wait for their clients
      clients.clear();
    }
    for (const ParkedWork& work : works) {
      ASSERT_EQ(work.ends(), removed.count(&work) > 0 ? 0 : 1);
    }
  }
}

TEST(BatchCompleterTest, EveryBatchEndsOnceThoughTheCompleterEnds) {
  FakeDevice device;
  device.fake_batches().BatchUpTo(1 << 20, {.tensors = 4, .bytes = 1 << 20});
  std::vector<std::unique_ptr<BatchLane>> lanes;
  std::deque<FakeWork> works;
  absl::Notification gate;
  device.fake_batches().Hold(&gate);
  std::atomic<int> ends{0};
  {
    BatchCompleter completer(
        2, std::chrono::microseconds(20), [] { return nullptr; },
        [&](std::unique_ptr<BatchRun> run) {
          ASSERT_EQ(run->TakeReports().size(), 2U);
          ends.fetch_add(1);
        });
    for (int i = 0; i < 40; ++i) {
      lanes.push_back(*device.MakeBatchLane());
      std::vector<QueuedWork> queued;
      for (int k = 0; k < 2; ++k) queued.push_back(Queued(works.emplace_back()));
      auto run = std::make_unique<BatchRun>(*lanes.back(), std::move(queued));
      if (i % 2 == 0) {
        EXPECT_FALSE(run->Run(Clock::time_point::min()));
      }
      completer.Hand(std::move(run));
    }
    EXPECT_EQ(ends, 0);
    gate.Notify();
  }
  EXPECT_EQ(ends, 40);
}

// Submitters, a canceller, a device that is lost, a drain: in every round another mix.
TEST(DeviceSchedulerScheduleTest, EveryWorkEndsOnce) {
  constexpr unsigned kSeed = 4;
  constexpr int kThreads = 3;
  constexpr int kWorks = 40;
  for (unsigned round = 0; round < 300; ++round) {
    SCOPED_TRACE(kSeed + round);
    std::mt19937 random(kSeed + round);
    FakeDevice device;
    device.fake_batches().BatchUpTo(24, {.tensors = 3, .bytes = 60});
    if (round % 3 == 0) device.fake_batches().FailSum(3, DeviceLostError("gone"));
    auto scheduler = *DeviceScheduler::Create(
        device, {.lanes = 2,
                 .batch_lanes = 2,
                 .queue_depth_max = round % 4 == 0 ? 4 : 1 << 20,
                 .look_max = std::chrono::microseconds(round % 2 * 50),
                 .caller_wait_max = std::chrono::microseconds(round % 5 == 0 ? 0 : 50)});
    std::deque<CountedWork> works;
    for (int i = 0; i < kThreads * kWorks; ++i) {
      works.emplace_back(random() % 6, random() % 4 == 0, random() % 3 == 0);
    }
    std::vector<char> accepted(works.size(), 0);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, seed = random()] {
        std::mt19937 own(seed);
        for (std::size_t i = t * kWorks; i < (t + 1) * kWorks; ++i) {
          if (!scheduler->Submit(&works[i]).ok()) continue;
          accepted[i] = own() % 4 != 0 || !scheduler->Withdraw(&works[i]);
        }
      });
    }
    if (round % 7 == 0) scheduler->Drain();
    if (round % 6 == 1) scheduler->Lose(DeviceLostError("pulled out"));
    threads.clear();
    scheduler = nullptr;
    for (std::size_t i = 0; i < works.size(); ++i) ASSERT_EQ(works[i].ends(), accepted[i]);
  }
}

}  // namespace
}  // namespace warpfold
