// The CPU backend as a device that tests can break: wrong bits, lost as by a sticky CUDA error,
// failing once; or hold back; or have join partials, undecided or not.
#ifndef WARPFOLD_TESTS_SERVER_FAULTY_DEVICE_H_
#define WARPFOLD_TESTS_SERVER_FAULTY_DEVICE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/device/cpu/cpu_executor.h"
#include "server/device/device_error.h"
#include "server/device/executor.h"
#include "server/device/reduce/merge.h"

namespace warpfold {

// Safe from any thread. Runs nothing inline, as a GPU.
class FaultyDevice final : public Executor {
 public:
  explicit FaultyDevice(std::string name)
      : cpu_({.staging_buffer_bytes = 64 << 10}), info_{std::move(name), "faulty", 0} {}

  // From now on every reduction fails as on a lost device.
  void Lose() { lost_ = true; }
  // From now on the first bit of every answer is wrong.
  void FlipABit() { flipped_ = true; }
  // The next reduction of a tensor fails with `status`.
  void FailNext(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    next_status_ = std::move(status);
  }
  // Workers that reduce a tensor wait, from now on until Release.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    holds_ = true;
  }
  void Release() {
    absl::MutexLock lock(&mutex_);
    holds_ = false;
  }
  // From now on it joins partials, and leaves results undecided so many times.
  void JoinPartials(int undecided) {
    undecided_ = undecided;
    joins_partials_ = true;
  }
  // The next reductions of tensors to partials find no room for them.
  void HaveNoRoomForPartials() { has_room_for_partials_ = false; }
  // Reductions to partials, and joins of them.
  int partials() const { return partials_; }
  int joins() const { return joins_; }
  // Of tensors, begun so far.
  int reductions() {
    absl::MutexLock lock(&mutex_);
    return reductions_;
  }
  // Waits until `count` workers wait.
  void AwaitHeld(int count) {
    absl::MutexLock lock(&mutex_);
    while (held_ < count) held_changed_.Wait(&mutex_);
  }

  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override {
    return std::make_unique<FaultyWorker>(*this, *cpu_.MakeWorker());
  }
  absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t size_bytes) override {
    return cpu_.AllocateTensor(size_bytes);
  }

 private:
  class FaultyWorker final : public Worker {
   public:
    FaultyWorker(FaultyDevice& device, std::unique_ptr<Worker> worker)
        : device_(device), worker_(std::move(worker)) {}
    absl::Status Begin(const Plan& plan) override {
      if (device_.lost_) return DeviceLostError("an illegal memory access");
      return worker_->Begin(plan);
    }
    absl::StatusOr<absl::Span<std::byte>> Buffer() override { return worker_->Buffer(); }
    absl::Status Commit(std::size_t byte_count) override { return worker_->Commit(byte_count); }
    absl::StatusOr<Outcome> Finish() override {
      absl::StatusOr<Outcome> outcome = worker_->Finish();
      if (outcome.ok() && device_.flipped_) outcome->results[0][0] ^= 1;
      return outcome;
    }
    void Abandon() override { worker_->Abandon(); }
    absl::StatusOr<std::unique_ptr<Suspended>> Suspend() override { return worker_->Suspend(); }
    absl::Status Resume(std::unique_ptr<Suspended> suspended) override {
      return worker_->Resume(std::move(suspended));
    }
    absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* data) override {
      if (absl::Status status = device_.Gate(); !status.ok()) return status;
      if (!plan.leaves_partials) return worker_->Reduce(plan, data);
      if (!device_.has_room_for_partials_) return absl::ResourceExhaustedError("no room");
      ++device_.partials_;
      Plan exact = plan;
      exact.leaves_partials = false;
      return worker_->Reduce(exact, data);
    }
    bool JoinsPartials(const Plan&) const override { return device_.joins_partials_; }
    // Of equal shards of a tensor of one dimension, in their order.
    absl::StatusOr<std::optional<Outcome>> JoinPartials(
        const Plan& plan, absl::Span<const std::vector<std::string>> partials) override {
      ++device_.joins_;
      if (device_.undecided_ > 0) {
        --device_.undecided_;
        return std::nullopt;
      }
      std::vector<PartValues> parts;
      const std::int64_t length = plan.reduced_count / static_cast<std::int64_t>(partials.size());
      for (const std::vector<std::string>& values : partials) {
        const std::int64_t begin = length * static_cast<std::int64_t>(parts.size());
        parts.push_back({{{begin}, {length}}, {values.begin(), values.end()}});
      }
      absl::StatusOr<std::vector<std::string>> results = MergeToResults(plan, parts);
      if (!results.ok()) return results.status();
      return Outcome{.results = *std::move(results), .times = {}};
    }
    absl::Status BeginWrite(std::byte* to, std::size_t size_bytes) override {
      if (device_.lost_) return DeviceLostError("an illegal memory access");
      return worker_->BeginWrite(to, size_bytes);
    }
    absl::Status FinishWrite() override { return worker_->FinishWrite(); }

   private:
    FaultyDevice& device_;
    std::unique_ptr<Worker> worker_;
  };

  // Where the reduction of a tensor begins.
  absl::Status Gate() {
    absl::MutexLock lock(&mutex_);
    ++reductions_;
    ++held_;
    held_changed_.SignalAll();
    mutex_.Await(absl::Condition(
        +[](bool* holds) { return !*holds; }, &holds_));
    --held_;
    if (lost_) return DeviceLostError("an illegal memory access");
    return std::exchange(next_status_, absl::OkStatus());
  }

  CpuExecutor cpu_;
  const DeviceInfo info_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> flipped_{false};
  std::atomic<bool> joins_partials_{false};
  std::atomic<bool> has_room_for_partials_{true};
  std::atomic<int> undecided_{0};
  std::atomic<int> partials_{0};
  std::atomic<int> joins_{0};
  absl::Mutex mutex_;
  absl::CondVar held_changed_;
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  int reductions_ ABSL_GUARDED_BY(mutex_) = 0;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;  // workers in the gate
  absl::Status next_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_FAULTY_DEVICE_H_
