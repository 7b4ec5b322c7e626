// The CPU as a device whose workers wait, each at its next task, while another process has a lock
// on the file that $WARPFOLD_WORKERS_LOCK names: warpfold-server linked with this is the real one
// with a device that takes its time.
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
  const char* const path = std::getenv("WARPFOLD_WORKERS_LOCK");
  if (path == nullptr) return;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  while (flock(descriptor, LOCK_SH) != 0 && errno == EINTR) {
  }
  close(descriptor);
}

class HeldWorker final : public Worker {
 public:
  explicit HeldWorker(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  absl::Status Begin(const Plan& plan) override {
    AwaitRelease();
    return worker_->Begin(plan);
  }
  absl::StatusOr<absl::Span<std::byte>> Buffer() override { return worker_->Buffer(); }
  absl::Status Commit(std::size_t byte_count) override { return worker_->Commit(byte_count); }
  absl::StatusOr<Outcome> Finish() override { return worker_->Finish(); }
  void Abandon() override { worker_->Abandon(); }
  absl::StatusOr<std::unique_ptr<Suspended>> Suspend() override { return worker_->Suspend(); }
  absl::Status Resume(std::unique_ptr<Suspended> suspended) override {
    return worker_->Resume(std::move(suspended));
  }
  absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* data) override {
    AwaitRelease();
    return worker_->Reduce(plan, data);
  }
  absl::Status BeginWrite(std::byte* to, std::size_t size_bytes) override {
    AwaitRelease();
    return worker_->BeginWrite(to, size_bytes);
  }
  absl::Status FinishWrite() override { return worker_->FinishWrite(); }

 private:
  const std::unique_ptr<Worker> worker_;
};

class HeldExecutor final : public Executor {
 public:
  explicit HeldExecutor(const WorkerOptions& options) : cpu_(options) {}

  const DeviceInfo& info() const override { return cpu_.info(); }
  DeviceUse::Counts use() const override { return cpu_.use(); }
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override {
    absl::StatusOr<std::unique_ptr<Worker>> worker = cpu_.MakeWorker();
    if (!worker.ok()) return worker.status();
    return std::make_unique<HeldWorker>(*std::move(worker));
  }
  absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t size_bytes) override {
    return cpu_.AllocateTensor(size_bytes);
  }

 private:
  CpuExecutor cpu_;
};

}  // namespace

absl::StatusOr<Devices> OpenDevices(Backend /*backend*/, const WorkerOptions& options) {
  Devices devices{.reason = "a test", .executors = {}};
  devices.executors.push_back(std::make_unique<HeldExecutor>(options));
  return devices;
}

}  // namespace warpfold
