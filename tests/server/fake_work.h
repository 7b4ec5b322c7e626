// Works that tests bring to a scheduler: sums of int64 elements, with a payload that waits where it
// is told to.
#ifndef WARPFOLD_TESTS_SERVER_FAKE_WORK_H_
#define WARPFOLD_TESTS_SERVER_FAKE_WORK_H_

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
#include "server/core/work.h"
#include "server/core/work_queue.h"

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
  // Notified when a lane reads.
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

class FakeWork final : public Work {
 public:
  explicit FakeWork(std::int64_t count = 4, absl::Notification* gate = nullptr,
                    bool waits_for_client = false)
      : payload_(count, gate), waits_for_client_(waits_for_client) {
    plan_ = *MakePlan({.dtype = DType::kI64, .shape = {count}, .ops = {Op::kSum}, .axes = {}});
  }

  // From now on it is `task`, on `device`.
  void SetTask(const LaneTask& task, const DeviceInfo* device) {
    task_ = task;
    device_ = device;
  }
  void Cancel() { token().Cancel(absl::CancelledError("cancelled")); }
  // Its submitter holds a lock, so to speak.
  void LeaveToLanes() { may_run_inline_ = false; }
  void HaveMoreBehind() { has_more_behind_ = true; }
  void WaitInDone() { done_waits_ = true; }
  void RefuseToQueue() { queues_ = absl::ResourceExhaustedError("too many"); }
  FakePayload& fake_payload() { return payload_; }
  // Waits for Done and returns what it brought.
  const WorkReport& Await() {
    done_.WaitForNotification();
    return report_;
  }
  bool is_done() const { return done_.HasBeenNotified(); }
  // REQUIRES: is_done().
  std::thread::id done_by() const { return done_by_; }

  LaneTask task() override { return task_; }
  const DeviceInfo* device() const override { return device_; }
  const Plan& plan() const override { return plan_; }
  PayloadSource& payload() override { return payload_; }
  bool waits_for_client() const override { return waits_for_client_; }
  bool may_run_inline() const override { return may_run_inline_ && !waits_for_client_; }
  bool has_more_behind() const override { return has_more_behind_; }
  bool done_waits() const override { return done_waits_; }
  absl::Status MayQueue() override { return queues_; }
  void Done(WorkReport report) override {
    report_ = std::move(report);
    done_by_ = std::this_thread::get_id();
    done_.Notify();  // fails a check when it comes twice
  }

 private:
  LaneTask task_;
  const DeviceInfo* device_ = nullptr;
  Plan plan_;
  FakePayload payload_;
  const bool waits_for_client_;
  bool may_run_inline_ = true;
  bool has_more_behind_ = false;
  bool done_waits_ = false;
  absl::Status queues_;
  WorkReport report_;
  std::thread::id done_by_;
  absl::Notification done_;
};

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

// Begins to wait now.
inline QueuedWork Queued(Work& work) { return {&work, std::chrono::steady_clock::now()}; }

// The one int64 of its results.
inline std::int64_t Sum(const WorkReport& report) {
  EXPECT_TRUE(report.outcome.ok()) << report.outcome.status();
  std::int64_t sum = -1;
  if (report.outcome.ok()) std::memcpy(&sum, report.outcome->results.at(0).data(), 8);
  return sum;
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_FAKE_WORK_H_
