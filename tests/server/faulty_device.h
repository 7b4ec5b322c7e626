// The CPU backend as a device that tests can break: wrong bits, or lost as by a sticky CUDA error.
#ifndef WARPFOLD_TESTS_SERVER_FAULTY_DEVICE_H_
#define WARPFOLD_TESTS_SERVER_FAULTY_DEVICE_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "server/device/cpu/cpu_executor.h"
#include "server/device/executor.h"

namespace warpfold {

// Safe from any thread. Runs nothing inline, as a GPU.
class FaultyDevice final : public Executor {
 public:
  explicit FaultyDevice(std::string name)
      : cpu_({.slab_bytes = 64 << 10}), info_{std::move(name), "faulty", 0} {}

  // From now on every reduction fails as on a lost device.
  void Lose() { lost_ = true; }
  // From now on the first bit of every answer is wrong.
  void FlipABit() { flipped_ = true; }

  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<Lane>> MakeLane() override {
    return std::make_unique<FaultyLane>(*this, *cpu_.MakeLane());
  }

 private:
  class FaultyLane final : public Lane {
   public:
    FaultyLane(FaultyDevice& device, std::unique_ptr<Lane> lane)
        : device_(device), lane_(std::move(lane)) {}
    absl::Status Begin(const Plan& plan) override {
      if (device_.lost_) return absl::UnavailableError("an illegal memory access");
      return lane_->Begin(plan);
    }
    absl::StatusOr<absl::Span<std::byte>> Buffer() override { return lane_->Buffer(); }
    absl::Status Commit(std::size_t byte_count) override { return lane_->Commit(byte_count); }
    absl::StatusOr<Outcome> Finish() override {
      absl::StatusOr<Outcome> outcome = lane_->Finish();
      if (outcome.ok() && device_.flipped_) outcome->results[0][0] ^= 1;
      return outcome;
    }
    void Abandon() override { lane_->Abandon(); }

   private:
    FaultyDevice& device_;
    std::unique_ptr<Lane> lane_;
  };

  CpuExecutor cpu_;
  const DeviceInfo info_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> flipped_{false};
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_FAULTY_DEVICE_H_
