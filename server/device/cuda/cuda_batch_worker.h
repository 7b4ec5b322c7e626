// A BatchWorker on a GPU: a stream, and pinned memory that the GPU reads and writes itself. See
// server/device/executor.h for the contract, kernels/cuda/batch.h for the table.
//
// The bytes of small tensors lie one after another in pinned memory, with the table behind them.
// Of a little the kernel reads both where they are, over the bus, which saves the copy's launch;
// more is copied to the device first, in one copy. Results and item_statuses are written straight
// to pinned memory, where the thread that waits for them watches the item_statuses: a small request
// makes one call of the driver, and none to learn that it is done.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_BATCH_WORKER_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_BATCH_WORKER_H_

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/reduce.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/executor.h"

namespace warpfold {

class CudaBatchWorker final : public BatchWorker {
 public:
  // Tensors of up to so many bytes batch; above, one has as much work as a launch is worth.
  static constexpr std::int64_t kTensorBytesMax = std::int64_t{64} << 10;

  // What fits in a table's items: contiguous rows, at most kRowsMax of them, in one pass.
  static bool Batches(const Plan& plan);

  // `use` must outlive the worker.
  static absl::StatusOr<std::unique_ptr<BatchWorker>> Make(int ordinal,
                                                           const WorkerOptions& options,
                                                           DeviceUse& use);
  ~CudaBatchWorker() override;

  std::optional<absl::Span<std::byte>> Add(const Plan& plan) override;
  void DropLast() override;
  void Launch() override;
  bool Poll() override;
  void Wait() override;
  std::vector<absl::StatusOr<Outcome>> Collect() override;

 private:
  static constexpr std::int64_t kRowsMax = 64;

  // Where the parts of one tensor begin, in bytes or items from the start of their area.
  struct Tensor {
    const Plan* plan = nullptr;
    FusedOpSet fused_op_set = FusedOpSet::kAll;  // of the plan
    std::size_t data = 0;
    std::size_t results = 0;
    std::size_t item = 0;  // its first row's; item_statuses are numbered as items
  };

  CudaBatchWorker(int ordinal, const WorkerOptions& options, DeviceUse& use);
  absl::Status Allocate();
  // One launch for each dtype and fused op set.
  absl::Status LaunchGroups();
  void WriteItems(const Tensor& tensor, const std::byte* d_input, cuda::BatchItem* items);
  absl::StatusOr<Outcome> OutcomeOf(const Tensor& tensor) const;
  // Of a tensor with an undecided output, whose bytes are still where they were staged.
  absl::StatusOr<Outcome> ReduceOnCpu(const Tensor& tensor) const;
  cuda::BatchItemStatus& item_status(std::size_t item) const;

  int ordinal_;
  BatchLimits limits_;
  DeviceUse& use_;
  std::size_t items_max_;
  std::size_t input_bytes_max_;  // data and table
  std::size_t result_bytes_max_;
  cuda::UniqueStream stream_;
  cuda::UniquePinnedMemory pinned_;  // input, results, item_statuses
  cuda::UniqueDeviceMemory d_input_;
  std::vector<Tensor> tensors_;
  std::size_t data_bytes_ = 0;
  std::size_t result_bytes_ = 0;
  std::size_t items_ = 0;
  // Of what was launched.
  std::chrono::steady_clock::time_point launched_;
  absl::Status status_;
  std::size_t items_done_ = 0;  // from the first on
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_BATCH_WORKER_H_
