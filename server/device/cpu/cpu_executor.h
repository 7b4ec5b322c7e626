// The embedded default: reductions on the host's processors, where there is no GPU.
#ifndef WARPFOLD_SERVER_DEVICE_CPU_CPU_EXECUTOR_H_
#define WARPFOLD_SERVER_DEVICE_CPU_CPU_EXECUTOR_H_

#include <memory>

#include "server/device/executor.h"

namespace warpfold {

// Workers fold each staging buffer as soon as it is full, on all cores when it is worth handing
// out. StagingBuffers are ordinary memory, one a worker.
class CpuExecutor final : public Executor {
 public:
  explicit CpuExecutor(const WorkerOptions& options);

  const DeviceInfo& info() const override { return info_; }
  DeviceUse::Counts use() const override { return use_.counts(); }
  // A few microseconds of work; a thread on an idle core took 40 to 150 to wake (two machines,
  // 2026-11-21).
  std::int64_t inline_bytes_max() const override { return std::int64_t{32} << 10; }
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override;
  absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t size_bytes) override;

 private:
  WorkerOptions options_;
  DeviceInfo info_;
  DeviceUse use_;  // which the workers share
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CPU_CPU_EXECUTOR_H_
