// Tasks that tests bring to a scheduler: sums of int64 elements, with a payload that waits where it
// is told to.
#ifndef WARPFOLD_TESTS_SERVER_FAKE_TASK_H_
#define WARPFOLD_TESTS_SERVER_FAKE_TASK_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/core/scheduling/task_queue.h"
#include "tests/server/owned_task.h"

namespace warpfold {

// A payload of the elements 1..n that waits, when given one, for a gate before its first byte.
class FakePayload final : public PayloadSource {
 public:
  FakePayload(std::int64_t count, absl::Notification* gate) : gate_(gate) {
    for (std::int64_t i = 1; i <= count; ++i) elements_.push_back(i);
  }
  void FailRead(absl::Status status) { failure_ = std::move(status); }
  // `act` is called in the read after the first `reads`.
  void CallAfter(int reads, std::function<void()> act) {
    reads_left_ = reads;
    act_ = std::move(act);
  }
  // Notified when a worker reads.
  absl::Notification& opened() { return opened_; }

  absl::Status ReadInto(absl::Span<std::byte> out) override {
    if (!opened_.HasBeenNotified()) opened_.Notify();
    if (gate_ != nullptr) gate_->WaitForNotification();
    if (act_ && reads_left_-- == 0) act_();
    if (!failure_.ok()) return failure_;
    std::memcpy(out.data(), reinterpret_cast<const char*>(elements_.data()) + at_, out.size());
    at_ += out.size();
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

 private:
  absl::Notification* const gate_;
  absl::Notification opened_;
  std::vector<std::int64_t> elements_;
  std::size_t at_ = 0;
  absl::Status failure_;
  int reads_left_ = 0;
  std::function<void()> act_;
};

class FakeTask final : public OwnedTask {
 public:
  explicit FakeTask(std::int64_t count = 4, absl::Notification* gate = nullptr,
                    bool is_sending = false)
      : payload_(count, gate) {
    plan_ = *MakePlan({.dtype = DType::kI64, .shape = {count}, .ops = {Op::kSum}, .axes = {}});
    plan = &plan_;
    payload = &payload_;
    waits_for_client = is_sending;
    may_run_inline = !is_sending;
  }

  // From now on it does `what`, on the device `where`.
  void SetAction(const Action& what, const DeviceInfo* where) {
    action = what;
    device = where;
  }
  // Its submitter holds a lock, so to speak.
  void LeaveToWorkers() { may_run_inline = false; }
  void RefuseToQueue() { queues_ = absl::ResourceExhaustedError("too many"); }
  FakePayload& fake_payload() { return payload_; }
  // Waits for OnDone and returns what it brought.
  const TaskReport& Await() {
    done_.WaitForNotification();
    return report_;
  }
  bool is_done() const { return done_.HasBeenNotified(); }
  // REQUIRES: is_done().
  std::thread::id done_by() const { return done_by_; }

  absl::Status MayQueue() override { return queues_; }
  void OnDone(TaskReport report) override {
    report_ = std::move(report);
    done_by_ = std::this_thread::get_id();
    done_.Notify();  // fails a check when it comes twice
  }

 private:
  Plan plan_;
  FakePayload payload_;
  absl::Status queues_;
  TaskReport report_;
  std::thread::id done_by_;
  absl::Notification done_;
};

// A task that counts its ends.
class CountedTask final : public OwnedTask {
 public:
  CountedTask(std::int64_t count, bool is_sending, bool more_behind = false)
      : payload_(count, nullptr) {
    plan_ = *MakePlan({.dtype = DType::kI64, .shape = {count}, .ops = {Op::kSum}, .axes = {}});
    plan = &plan_;
    payload = &payload_;
    waits_for_client = is_sending;
    may_run_inline = !is_sending;
    is_pipelined_stream = more_behind;
  }
  void OnDone(TaskReport /*report*/) override { ends_.fetch_add(1); }
  int ends() const { return ends_; }

 private:
  Plan plan_;
  FakePayload payload_;
  std::atomic<int> ends_{0};
};

// Begins to wait now.
inline QueuedTask Queued(Task& task) { return {&task, std::chrono::steady_clock::now()}; }

// The one int64 of its results.
inline std::int64_t Sum(const TaskReport& report) {
  EXPECT_TRUE(report.outcome.ok()) << report.outcome.status();
  std::int64_t sum = -1;
  if (report.outcome.ok()) std::memcpy(&sum, report.outcome->results.at(0).data(), 8);
  return sum;
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_FAKE_TASK_H_
