// A device whose workers wait, in Begin and in Reduce, until the test opens it. It keeps tensors.
#ifndef WARPFOLD_TESTS_SERVER_GATED_DEVICE_H_
#define WARPFOLD_TESTS_SERVER_GATED_DEVICE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/device/executor.h"

namespace warpfold {

class GatedDevice final : public Executor {
 public:
  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override {
    return std::make_unique<GatedWorker>(*this);
  }

  absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t size_bytes) override {
    return std::make_unique<GatedMemory>(size_bytes);
  }

  // Waits until a worker has begun.
  void AwaitBegun() { begun_.WaitForNotification(); }
  // That have begun.
  int writes() const { return writes_; }
  // Lets every worker go, now and later.
  void Open() {
    if (!open_.HasBeenNotified()) open_.Notify();
  }

 private:
  class GatedMemory final : public TensorMemory {
   public:
    explicit GatedMemory(std::size_t size_bytes) : bytes_(size_bytes) {}
    std::byte* data() const override { return bytes_.data(); }

   private:
    mutable std::vector<std::byte> bytes_;
  };

  class GatedWorker final : public Worker {
   public:
    explicit GatedWorker(GatedDevice& device) : device_(device), staging_buffer_(4096) {}
    absl::Status Begin(const Plan& /*plan*/) override {
      if (!device_.begun_.HasBeenNotified()) device_.begun_.Notify();
      device_.open_.WaitForNotification();
      return absl::OkStatus();
    }
    absl::StatusOr<absl::Span<std::byte>> Buffer() override {
      return absl::MakeSpan(staging_buffer_);
    }
    absl::Status Commit(std::size_t /*byte_count*/) override { return absl::OkStatus(); }
    absl::StatusOr<Outcome> Finish() override {
      return Outcome{.results = {std::string(8, '\0')}, .times = {}};
    }
    void Abandon() override {}
    absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* /*data*/) override {
      if (absl::Status begun = Begin(plan); !begun.ok()) return begun;
      return Finish();
    }
    absl::Status BeginWrite(std::byte* /*to*/, std::size_t /*size_bytes*/) override {
      ++device_.writes_;
      return absl::OkStatus();
    }
    absl::Status FinishWrite() override { return absl::OkStatus(); }

   private:
    GatedDevice& device_;
    std::vector<std::byte> staging_buffer_;
  };

  const DeviceInfo info_{"gated", "gated", 0};
  absl::Notification begun_;
  absl::Notification open_;
  std::atomic<int> writes_{0};
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_GATED_DEVICE_H_
