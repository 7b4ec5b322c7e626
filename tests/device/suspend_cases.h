// What every device must do with tasks that leave a worker for a while: the bits of those that
// stay, whatever the workers did meanwhile. Shared by the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_DEVICE_SUSPEND_CASES_H_
#define WARPFOLD_TESTS_DEVICE_SUSPEND_CASES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/device/executor.h"
#include "tests/device/worker_cases.h"

namespace warpfold::testing {

// A reduction, or a write, that workers do in turns.
class TaskInTurns {
 public:
  TaskInTurns(Plan plan, std::string bytes, std::byte* to = nullptr)
      : plan_(std::move(plan)), bytes_(std::move(bytes)), to_(to) {}

  bool is_done() const { return is_done_; }
  const absl::StatusOr<Outcome>& outcome() const { return outcome_; }
  const Plan& plan() const { return plan_; }
  const std::string& bytes() const { return bytes_; }

  // Up to `segments` more on the idle `worker`, which it leaves idle.
  void Turn(Worker& worker, int segments) {
    absl::Status status =
        suspended_ != nullptr ? worker.Resume(std::move(suspended_)) : Begin(worker);
    for (; status.ok() && segments > 0 && sent_ < bytes_.size(); --segments) status = Send(worker);
    if (status.ok() && sent_ < bytes_.size()) {
      absl::StatusOr<std::unique_ptr<Suspended>> suspended = worker.Suspend();
      if (suspended.ok()) {
        suspended_ = *std::move(suspended);
        return;
      }
      status = suspended.status();
    } else if (status.ok()) {
      outcome_ = Finish(worker);
      is_done_ = true;
      return;
    } else {
      worker.Abandon();
    }
    outcome_ = status;
    is_done_ = true;
  }

 private:
  absl::Status Begin(Worker& worker) const {
    return to_ == nullptr ? worker.Begin(plan_) : worker.BeginWrite(to_, bytes_.size());
  }
  absl::Status Send(Worker& worker) {
    absl::StatusOr<absl::Span<std::byte>> buffer = worker.Buffer();
    if (!buffer.ok()) return buffer.status();
    const std::size_t size = std::min(buffer->size(), bytes_.size() - sent_);
    std::memcpy(buffer->data(), bytes_.data() + sent_, size);
    sent_ += size;
    return worker.Commit(size);
  }
  absl::StatusOr<Outcome> Finish(Worker& worker) const {
    if (to_ == nullptr) return worker.Finish();
    if (absl::Status status = worker.FinishWrite(); !status.ok()) return status;
    return Outcome{};
  }

  const Plan plan_;
  const std::string bytes_;
  std::byte* const to_;
  std::size_t sent_ = 0;
  std::unique_ptr<Suspended> suspended_;
  bool is_done_ = false;
  absl::StatusOr<Outcome> outcome_ = absl::UnknownError("not done");
};

inline void DoInTurns(const std::vector<Worker*>& workers, std::deque<TaskInTurns>& tasks,
                      std::mt19937_64& random) {
  for (std::size_t left = tasks.size(); left > 0;) {
    TaskInTurns& task = tasks[random() % tasks.size()];
    if (task.is_done()) continue;
    task.Turn(*workers[random() % workers.size()], static_cast<int>(random() % 4));
    if (task.is_done()) --left;
  }
}

inline std::string RandomBytes(DType dtype, std::int64_t count, std::mt19937_64& random) {
  std::string bytes;
  VisitDType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::vector<T> elements = RandomElements<T>(static_cast<std::size_t>(count), random);
    bytes.assign(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  });
  return bytes;
}

// Every kind of segment, with 64 KiB staging buffers; results in the device's memory and in the
// host's; sums that do not fit beside others.
inline void GoesOnWithWhatWasSuspended(const std::vector<Worker*>& workers) {
  std::mt19937_64 random(29);
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> shapes = {
      {{100, 1000}, {1}},        {{3, 100000}, {1}}, {{100000, 3}, {0}},
      {{37, 9001}, {0}},         {{300000}, {}},     {{3, 4, 20000}, {0, 2}},
      {{3, 2, 9, 9001}, {0, 2}}, {{40000, 5}, {1}},  {{1000000, 2}, {1}},
  };
  for (const DType dtype : DTypesToTest()) {
    std::deque<TaskInTurns> tasks;
    std::vector<absl::StatusOr<Outcome>> expected;
    for (const auto& [shape, axes] : shapes) {
      for (const std::vector<Op>& ops :
           {std::vector<Op>{Op::kSum}, {Op::kMean, Op::kMin, Op::kSum, Op::kMax}, {Op::kArgMax}}) {
        const Plan plan = *MakePlan({.dtype = dtype, .shape = shape, .ops = ops, .axes = axes});
        tasks.emplace_back(plan, RandomBytes(dtype, plan.element_count, random));
        expected.push_back(
            Feed(*workers.front(), tasks.back().plan(), tasks.back().bytes().data(), random));
      }
    }
    DoInTurns(workers, tasks, random);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      ASSERT_EQ(tasks[i].outcome().status(), expected[i].status()) << Name(dtype) << " " << i;
      if (expected[i].ok()) {
        ASSERT_EQ(tasks[i].outcome()->results, expected[i]->results) << Name(dtype) << " " << i;
      }
    }
  }
}

// What does not fit is known when its row is whole, which may be long before the end.
inline void KeepsASuspendedOverflowToItself(const std::vector<Worker*>& workers) {
  std::mt19937_64 random(30);
  const Plan plan =
      *MakePlan({.dtype = DType::kI64, .shape = {64, 20000}, .ops = {Op::kSum}, .axes = {1}});
  const auto all = [&](std::int64_t value) {
    std::string bytes;
    for (std::int64_t i = 0; i < plan.element_count; ++i) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return bytes;
  };
  std::deque<TaskInTurns> tasks;
  for (int i = 0; i < 3; ++i) {
    tasks.emplace_back(plan, all(std::numeric_limits<std::int64_t>::max()));
    tasks.emplace_back(plan, all(1));
  }
  DoInTurns(workers, tasks, random);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(tasks[i].outcome().status().code(),
              i % 2 == 0 ? absl::StatusCode::kOutOfRange : absl::StatusCode::kOk);
  }
}

inline void GoesOnWithASuspendedWrite(Executor& executor, const std::vector<Worker*>& workers) {
  std::mt19937_64 random(31);
  const Plan plan = *MakePlan({.dtype = DType::kI32, .shape = {1'000'000}, .ops = {Op::kSum}});
  std::vector<std::unique_ptr<TensorMemory>> tensors;
  std::deque<TaskInTurns> tasks;
  for (int i = 0; i < 4; ++i) {
    auto memory = executor.AllocateTensor(static_cast<std::size_t>(plan.input_bytes));
    ASSERT_TRUE(memory.ok()) << memory.status();
    tensors.push_back(*std::move(memory));
    tasks.emplace_back(plan, RandomBytes(plan.dtype, plan.element_count, random),
                       tensors.back()->data());
  }
  DoInTurns(workers, tasks, random);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_TRUE(tasks[i].outcome().ok()) << tasks[i].outcome().status();
    const auto written = workers.front()->Reduce(plan, tensors[i]->data());
    const auto fed = Feed(*workers.front(), plan, tasks[i].bytes().data(), random);
    ASSERT_TRUE(written.ok() && fed.ok()) << written.status() << fed.status();
    EXPECT_EQ(written->results, fed->results);
  }
}

// Nobody goes on with it, and its worker serves the next.
inline void DropsWhatStaysSuspended(Worker& worker) {
  std::mt19937_64 random(32);
  const Plan plan = *MakePlan({.dtype = DType::kF32, .shape = {3'000'000}, .ops = {Op::kSum}});
  const std::string bytes = RandomBytes(plan.dtype, plan.element_count, random);
  for (const int segments : {0, 2}) {
    TaskInTurns task(plan, bytes);
    task.Turn(worker, segments);
    EXPECT_FALSE(task.is_done());
  }
  EXPECT_TRUE(Feed(worker, plan, bytes.data(), random).ok());
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_DEVICE_SUSPEND_CASES_H_
