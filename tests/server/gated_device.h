// A device whose lanes wait in Begin until the test opens it.
#ifndef WARPFOLD_TESTS_SERVER_GATED_DEVICE_H_
#define WARPFOLD_TESTS_SERVER_GATED_DEVICE_H_

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
  absl::StatusOr<std::unique_ptr<Lane>> MakeLane() override {
    return std::make_unique<GatedLane>(*this);
  }

  // Waits until a lane has begun.
  void AwaitBegun() { begun_.WaitForNotification(); }
  // Lets every lane go, now and later.
  void Open() {
    if (!open_.HasBeenNotified()) open_.Notify();
  }

 private:
  class GatedLane final : public Lane {
   public:
    explicit GatedLane(GatedDevice& device) : device_(device), slab_(4096) {}
    absl::Status Begin(const Plan& /*plan*/) override {
      if (!device_.begun_.HasBeenNotified()) device_.begun_.Notify();
      device_.open_.WaitForNotification();
      return absl::OkStatus();
    }
    absl::StatusOr<absl::Span<std::byte>> Buffer() override { return absl::MakeSpan(slab_); }
    absl::Status Commit(std::size_t /*byte_count*/) override { return absl::OkStatus(); }
    absl::StatusOr<Outcome> Finish() override {
      return Outcome{.results = {std::string(8, '\0')}, .times = {}};
    }
    void Abandon() override {}

   private:
    GatedDevice& device_;
    std::vector<std::byte> slab_;
  };

  const DeviceInfo info_{"gated", "gated", 0};
  absl::Notification begun_;
  absl::Notification open_;
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_GATED_DEVICE_H_
