// How a reduction or a write leaves a CudaLane for a while: what it has in the lane's own memory is
// copied aside on the device, and back to the lane that goes on with it.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/targets.h"
#include "server/device/cuda/cuda_lane.h"

namespace warpfold {

// Nothing of it is in a slab, or on its way.
struct CudaLane::Task final : Suspended {
  Task(int on, std::atomic<std::size_t>& counted) : ordinal(on), suspended_bytes(counted) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() override {
    suspended_bytes -= bytes;
    if (!cuda::SetDevice(ordinal).ok()) return;
    if (d_saved != nullptr) (void)cudaFreeAsync(d_saved, cudaStreamPerThread);
    if (reduction && reduction->d_pooled != nullptr) {
      (void)cudaFreeAsync(reduction->d_pooled, cudaStreamPerThread);
    }
  }

  const int ordinal;
  std::atomic<std::size_t>& suspended_bytes;
  std::size_t bytes = 0;        // of it
  std::size_t saved_bytes = 0;  // at d_saved: the overflow report, then results and scratch
  void* d_saved = nullptr;
  std::vector<std::byte> pinned_results;
  const Plan* plan = nullptr;
  HostCharge result_charge;
  std::optional<Reduction> reduction;
  std::optional<Write> write;
};

absl::Status CudaLane::AwaitSlabs() {
  for (Slab& slab : slabs_) {
    if (absl::Status status = Release(slab); !status.ok()) return status;
  }
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Suspended>> CudaLane::Suspend() {
  auto task = std::make_unique<Task>(ordinal_, suspended_bytes_);
  absl::Status status = AwaitSlabs();
  if (status.ok() && reduction_) status = Save(*task);
  if (!status.ok()) {
    Abandon();
    return status;
  }
  task->plan = std::exchange(plan_, nullptr);
  task->result_charge = std::move(result_charge_);
  task->reduction = std::exchange(reduction_, std::nullopt);
  task->write = std::exchange(write_, std::nullopt);
  return task;
}

absl::Status CudaLane::Save(Task& task) {
  const Reduction& r = *reduction_;
  const bool is_pooled = r.d_pooled != nullptr;
  task.saved_bytes = kOverflowBytes + (is_pooled ? 0 : r.d_bytes);
  task.bytes = kOverflowBytes + r.d_bytes;
  // As much as four reductions may hold, so that idle clients leave room for others.
  const std::size_t bytes_max = 4 * options_.scratch_bytes;
  if (suspended_bytes_ += task.bytes; suspended_bytes_ > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the streams that wait for their clients hold more than ", bytes_max,
                     " bytes of partial results on the device"));
  }
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMallocAsync(&task.d_saved, task.saved_bytes, stream_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(task.d_saved, d_overflow_, task.saved_bytes,
                                                cudaMemcpyDeviceToDevice, stream_.get()));
  if (r.in_pinned) {
    task.pinned_results.assign(pinned_results_, pinned_results_ + r.result_layout.total_bytes());
  }
  if (MayOverflow(*plan_)) return ResetOverflow();  // which waits
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_.get()));
  return absl::OkStatus();
}

absl::Status CudaLane::Resume(std::unique_ptr<Suspended> suspended) {
  Task& task = dynamic_cast<Task&>(*suspended);
  WARPFOLD_RETURN_IF_NOT_SET(ordinal_);
  plan_ = task.plan;
  result_charge_ = std::move(task.result_charge);
  reduction_ = std::exchange(task.reduction, std::nullopt);
  write_ = std::exchange(task.write, std::nullopt);
  absl::Status status = reduction_ ? Restore(task) : absl::OkStatus();
  if (!status.ok()) Abandon();
  return status;
}

absl::Status CudaLane::Restore(Task& task) {
  Reduction& r = *reduction_;
  Place(*plan_, r);
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(d_overflow_, task.d_saved, task.saved_bytes,
                                                cudaMemcpyDeviceToDevice, stream_.get()));
  WARPFOLD_RETURN_IF_CUDA_ERROR(cudaFreeAsync(std::exchange(task.d_saved, nullptr), stream_.get()));
  std::memcpy(pinned_results_, task.pinned_results.data(), task.pinned_results.size());
  return absl::OkStatus();
}

}  // namespace warpfold
