// A Worker on a GPU: a workspace, and the reduction or the write that is open on it. See
// server/device/executor.h for the contract.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WORKER_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WORKER_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/launch_plan.h"
#include "server/device/cuda/cuda_reduction.h"
#include "server/device/cuda/cuda_workspace.h"
#include "server/device/cuda/cuda_write.h"
#include "server/device/executor.h"

namespace warpfold {

class CudaWorker final : public Worker {
 public:
  // `use` and `suspended_bytes`, which the workers of a device share, must outlive the worker and
  // what it suspends.
  static absl::StatusOr<std::unique_ptr<Worker>> Make(int ordinal, const cuda::DeviceShape& shape,
                                                      const WorkerOptions& options, DeviceUse& use,
                                                      std::atomic<std::size_t>& suspended_bytes);
  ~CudaWorker() override { Abandon(); }

  absl::Status Begin(const Plan& plan) override;
  absl::StatusOr<absl::Span<std::byte>> Buffer() override;
  absl::Status Commit(std::size_t byte_count) override;
  absl::Status CommitInPlace(const std::byte* data) override;
  absl::StatusOr<Outcome> Finish() override { return Finish(nullptr); }
  void Abandon() override;
  absl::StatusOr<std::unique_ptr<Suspended>> Suspend() override;
  absl::Status Resume(std::unique_ptr<Suspended> suspended) override;
  absl::StatusOr<Outcome> Reduce(const Plan& plan, const std::byte* d_data) override;
  bool JoinsPartials(const Plan& plan) const override;
  absl::StatusOr<std::optional<Outcome>> JoinPartials(
      const Plan& plan, absl::Span<const std::vector<std::string>> partials) override;
  absl::Status BeginWrite(std::byte* d_to, std::size_t size_bytes) override;
  absl::Status FinishWrite() override;

 private:
  struct Aside;

  CudaWorker(std::unique_ptr<CudaWorkspace> workspace, std::atomic<std::size_t>& suspended_bytes)
      : workspace_(std::move(workspace)), suspended_bytes_(suspended_bytes) {}
  // In segments of `segment_bytes` at most.
  absl::Status Begin(const Plan& plan, std::size_t segment_bytes);
  // Ends the reduction, whatever happens.
  absl::StatusOr<Outcome> Finish(const std::byte* d_tensor);

  const std::unique_ptr<CudaWorkspace> workspace_;
  std::atomic<std::size_t>& suspended_bytes_;
  // One of them is open, or neither.
  std::unique_ptr<CudaReduction> reduction_;
  std::optional<CudaWrite> write_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_WORKER_H_
