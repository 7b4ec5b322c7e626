// A GPU as an Executor.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_EXECUTOR_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_EXECUTOR_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/cuda/launch_plan.h"
#include "server/device/cuda/memory/tensor_pool.h"
#include "server/device/executor.h"

namespace warpfold {

class CudaExecutor final : public Executor {
 public:
  // Opens GPU `ordinal` and sets `options.scratch_bytes` of its memory aside. Loads no kernels.
  static absl::StatusOr<std::unique_ptr<Executor>> Open(int ordinal, const WorkerOptions& options);

  const DeviceInfo& info() const override { return info_; }
  DeviceUse::Counts use() const override { return use_.counts(); }
  std::string compiles_for() const override { return compiles_for_; }
  absl::Status LoadKernels(DType dtype) override;
  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker() override;
  BatchLimits batch_limits() const override { return options_.batch; }
  bool Batches(const Plan& plan) const override;
  absl::StatusOr<std::unique_ptr<BatchWorker>> MakeBatchWorker() override;
  absl::StatusOr<std::unique_ptr<TensorMemory>> AllocateTensor(std::size_t size_bytes) override;
  absl::StatusOr<std::unique_ptr<TensorMemory>> MapShared(int descriptor, std::int64_t offset_bytes,
                                                          std::size_t size_bytes) override;
  absl::StatusOr<std::unique_ptr<PeerMemory>> OpenPeer(absl::string_view handle,
                                                       std::int64_t size_bytes) override;

 private:
  CudaExecutor(int ordinal, const WorkerOptions& options) : ordinal_(ordinal), options_(options) {}

  int ordinal_;
  WorkerOptions options_;
  DeviceInfo info_;
  std::string compiles_for_;
  DeviceUse use_;  // which the workers share, as what follows
  std::atomic<std::size_t> suspended_bytes_{0};
  cuda::DeviceShape shape_;
  std::unique_ptr<TensorPool> tensors_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_EXECUTOR_H_
