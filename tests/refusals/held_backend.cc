// The CPU as a device whose lanes wait, each at its next task, while another process has a lock on
// the file that $WARPFOLD_LANES_LOCK names: warpfold-server linked with this is the real one with a
// device that takes its time.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "server/device/backend/backend.h"
#include "server/device/cpu/cpu_executor.h"

namespace warpfold {
namespace {

void AwaitRelease() {
  const char* const path = std::getenv("WARPFOLD_LANES_LOCK");
  if (path == nullptr) return;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  while (flock(descriptor, LOCK_SH) != 0 && errno == EINTR) {
  }
  close(descriptor);
}

class HeldLane final : public Lane {
 public:
  explicit HeldLane(std::unique_ptr<Lane> lane) : lane_(std::move(lane)) {}

  absl::Status Begin(const Plan& plan) override {
    AwaitRelease();
    return lane_->Begin(plan);
  }
  absl::StatusOr<absl::Span<std::byte>> Buffer() override { return lane_->Buffer(); }
  absl::Status Commit(std::size_t byte_count) override { return lane_->Commit(byte_count); }
  absl::StatusOr<Outcome> Finish() override { return lane_->Finish(); }
  void Abandon() override { lane_->Abandon(); }
  absl::StatusOr<std::unique_ptr<Suspended>> Suspend() override { return lane_->Suspend(); }
  absl::Status Resume(std::unique_ptr<Suspended> suspended) override {
    return lane_->Resume(std::move(suspended));
  }
  absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* data) override {
    AwaitRelease();
    return lane_->Reduce(plan, data);
  }
  absl::Status BeginWrite(std::byte* to, std::size_t size_bytes) override {
    AwaitRelease();
    return lane_->BeginWrite(to, size_bytes);
  }
  absl::Status FinishWrite() override { return lane_->FinishWrite(); }

 private:
  const std::unique_ptr<Lane> lane_;
};

class HeldExecutor final : public Executor {
 public:
  explicit HeldExecutor(const LaneOptions& options) : cpu_(options) {}

  const DeviceInfo& info() const override { return cpu_.info(); }
  DeviceUse::Counts use() const override { return cpu_.use(); }
  absl::StatusOr<std::unique_ptr<Lane>> MakeLane() override {
    absl::StatusOr<std::unique_ptr<Lane>> lane = cpu_.MakeLane();
    if (!lane.ok()) return lane.status();
    return std::make_unique<HeldLane>(*std::move(lane));
  }
  absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t size_bytes) override {
    return cpu_.AllocateTensor(size_bytes);
  }

 private:
  CpuExecutor cpu_;
};

}  // namespace

absl::StatusOr<Devices> OpenDevices(Backend /*backend*/, const LaneOptions& options) {
  Devices devices{.reason = "a test", .executors = {}};
  devices.executors.push_back(std::make_unique<HeldExecutor>(options));
  return devices;
}

}  // namespace warpfold
