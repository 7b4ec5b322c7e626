// Batches that tests control: they add up int64 elements, wait where they are told to, and
// remember how many tensors each held.
#ifndef WARPFOLD_TESTS_SERVER_FAKE_BATCHES_H_
#define WARPFOLD_TESTS_SERVER_FAKE_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/device/executor.h"

namespace warpfold {

// Safe from any thread, but for BatchUpTo, which comes first.
class FakeBatches {
 public:
  // Tensors of up to `bytes` batch, within `limits`.
  void BatchUpTo(std::int64_t bytes, const BatchLimits& limits) {
    tensor_bytes_max_ = bytes;
    limits_ = limits;
  }
  BatchLimits limits() const { return limits_; }
  bool Batches(const Plan& plan) const { return plan.input_bytes <= tensor_bytes_max_; }
  std::unique_ptr<BatchWorker> MakeWorker() { return std::make_unique<FakeBatchWorker>(*this); }

  // No batch launched from now on ends before `gate`.
  void Hold(absl::Notification* gate) {
    absl::MutexLock lock(&mutex_);
    gate_ = gate;
  }
  // From now on a tensor whose sum is `sum` is answered with `status`.
  void FailSum(std::int64_t sum, absl::Status status) {
    absl::MutexLock lock(&mutex_);
    failing_sum_ = sum;
    sum_status_ = std::move(status);
  }
  // Tensors of each batch so far.
  std::vector<int> sizes() const {
    absl::MutexLock lock(&mutex_);
    return sizes_;
  }
  // Waits until so many batches have begun.
  void Await(std::size_t count) const {
    const auto has_them = [this, count]()
                              ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return sizes_.size() >= count; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_them));
  }

 private:
  class FakeBatchWorker final : public BatchWorker {
   public:
    explicit FakeBatchWorker(FakeBatches& batches) : batches_(batches) {}
    std::optional<absl::Span<std::byte>> Add(const Plan& plan) override {
      const std::size_t bytes = static_cast<std::size_t>(plan.input_bytes);
      const BatchLimits& limits = batches_.limits_;
      if (!tensors_.empty() && (tensors_.size() == static_cast<std::size_t>(limits.tensors) ||
                                bytes_ + bytes > limits.bytes)) {
        return std::nullopt;
      }
      bytes_ += bytes;
      tensors_.emplace_back(bytes);
      return absl::MakeSpan(tensors_.back());
    }
    void DropLast() override {
      bytes_ -= tensors_.back().size();
      tensors_.pop_back();
    }
    void Launch() override { gate_ = batches_.Begin(static_cast<int>(tensors_.size())); }
    bool Poll() override { return gate_ == nullptr || gate_->HasBeenNotified(); }
    void Wait() override {
      if (gate_ != nullptr) gate_->WaitForNotification();
    }
    std::vector<absl::StatusOr<Outcome>> Collect() override {
      std::vector<absl::StatusOr<Outcome>> outcomes;
      for (const std::vector<std::byte>& tensor : tensors_)
        outcomes.push_back(batches_.Sum(tensor));
      tensors_.clear();
      bytes_ = 0;
      return outcomes;
    }

   private:
    FakeBatches& batches_;
    std::vector<std::vector<std::byte>> tensors_;
    std::size_t bytes_ = 0;
    absl::Notification* gate_ = nullptr;  // of the batch that was launched
  };

  // The gate that holds this batch; null: none does.
  absl::Notification* Begin(int tensors) {
    absl::MutexLock lock(&mutex_);
    sizes_.push_back(tensors);
    return gate_;
  }
  absl::StatusOr<Outcome> Sum(const std::vector<std::byte>& tensor) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i + 8 <= tensor.size(); i += 8) {
      std::int64_t element;
      std::memcpy(&element, tensor.data() + i, sizeof(element));
      sum += element;
    }
    absl::MutexLock lock(&mutex_);
    if (!sum_status_.ok() && sum == failing_sum_) return sum_status_;
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &sum, 8);
    return Outcome{.results = {bytes}, .times = {}};
  }

  std::int64_t tensor_bytes_max_ = 0;
  BatchLimits limits_;
  mutable absl::Mutex mutex_;
  absl::Notification* gate_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::vector<int> sizes_ ABSL_GUARDED_BY(mutex_);
  std::int64_t failing_sum_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status sum_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_FAKE_BATCHES_H_
