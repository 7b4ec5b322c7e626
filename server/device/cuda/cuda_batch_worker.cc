#include "server/device/cuda/cuda_batch_worker.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/cpu/reduce.h"
#include "kernels/ops/catalogue.h"
#include "kernels/targets.h"
#include "server/device/host_bytes.h"
#include "server/device/reduce/results.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;
using cuda::BatchItem;
using cuda::BatchItemStatus;

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kResultBytes = 8;  // the largest result of an op, of one output

std::size_t RoundedUp(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// From one op's results of `rows` rows to the next one's.
std::size_t OpStride(std::size_t rows) { return RoundedUp(rows * kResultBytes); }

std::size_t Rows(const Plan& plan) { return static_cast<std::size_t>(plan.geometry.outer); }

}  // namespace

bool CudaBatchWorker::Batches(const Plan& plan) {
  const Geometry& g = plan.geometry;
  // The exact product of floats is a pass of its own.
  const bool has_pass_beside = std::ranges::any_of(
      plan.ops, [&](Op op) { return StatisticOf(op, plan.dtype) == Statistic::kProduct; });
  return plan.element_count > 0 && plan.input_bytes <= kTensorBytesMax && g.inner == 1 &&
         g.folds.empty() && g.outer <= kRowsMax && !plan.leaves_states && !has_pass_beside;
}

CudaBatchWorker::CudaBatchWorker(int ordinal, const WorkerOptions& options, DeviceUse& use)
    : ordinal_(ordinal), limits_(options.batch), use_(use) {
  // Each tensor's rows and results are small beside what a few tensors may have.
  const std::size_t tensors = static_cast<std::size_t>(limits_.tensors);
  limits_.bytes = RoundedUp(std::max(limits_.bytes, static_cast<std::size_t>(kTensorBytesMax)));
  items_max_ = tensors + static_cast<std::size_t>(kRowsMax) * 16;
  input_bytes_max_ = limits_.bytes + items_max_ * sizeof(BatchItem);
  result_bytes_max_ = items_max_ * kRequestOpsMax * kAlignment;
}

absl::StatusOr<std::unique_ptr<BatchWorker>> CudaBatchWorker::Make(int ordinal,
                                                                   const WorkerOptions& options,
                                                                   DeviceUse& use) {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal);
  std::unique_ptr<CudaBatchWorker> worker(new CudaBatchWorker(ordinal, options, use));
  if (absl::Status status = worker->Allocate(); !status.ok()) return status;
  return worker;
}

CudaBatchWorker::~CudaBatchWorker() {
  if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_.get());
}

absl::Status CudaBatchWorker::Allocate() {
  // Beside a kernel over 16 GiB small requests would wait for all its blocks.
  absl::StatusOr<cuda::UniqueStream> stream = cuda::MakeStream(cuda::StreamPriority::kHighest);
  if (!stream.ok()) return stream.status();
  stream_ = *std::move(stream);
  absl::StatusOr<cuda::UniquePinnedMemory> pinned = cuda::AllocatePinned(
      input_bytes_max_ + result_bytes_max_ + items_max_ * sizeof(BatchItemStatus));
  if (!pinned.ok()) return pinned.status();
  pinned_ = *std::move(pinned);
  absl::StatusOr<cuda::UniqueDeviceMemory> input = cuda::AllocateDevice(input_bytes_max_);
  if (!input.ok()) return input.status();
  d_input_ = *std::move(input);
  return absl::OkStatus();
}

std::optional<absl::Span<std::byte>> CudaBatchWorker::Add(const Plan& plan) {
  const std::size_t bytes = static_cast<std::size_t>(plan.input_bytes);
  const std::size_t rows = Rows(plan);
  const std::size_t results = OpStride(rows) * plan.ops.size();
  if (tensors_.size() == static_cast<std::size_t>(limits_.tensors) ||
      data_bytes_ + RoundedUp(bytes) > limits_.bytes || items_ + rows > items_max_ ||
      result_bytes_ + results > result_bytes_max_) {
    return std::nullopt;
  }
  tensors_.push_back({&plan, plan.fused_op_set(), data_bytes_, result_bytes_, items_});
  data_bytes_ += RoundedUp(bytes);
  result_bytes_ += results;
  items_ += rows;
  return absl::MakeSpan(pinned_.get() + tensors_.back().data, bytes);
}

void CudaBatchWorker::DropLast() {
  const Tensor& last = tensors_.back();
  data_bytes_ = last.data;
  result_bytes_ = last.results;
  items_ = last.item;
  tensors_.pop_back();
}

void CudaBatchWorker::Launch() {
  launched_ = Clock::now();
  items_done_ = 0;
  status_ = LaunchGroups();
}

// The kernel writes item_statuses to pinned memory: to look at them is no call of the driver's.
bool CudaBatchWorker::Poll() {
  // What was launched before the failure reads and writes this worker's memory.
  if (!status_.ok()) return cudaStreamQuery(stream_.get()) != cudaErrorNotReady;
  for (; items_done_ < items_; ++items_done_) {
    const std::atomic_ref outcome(item_status(items_done_).outcome);
    if (outcome.load(std::memory_order_acquire) == BatchItemStatus::Outcome::kPending) return false;
  }
  return true;
}

void CudaBatchWorker::Wait() {
  const cudaError_t error = cudaStreamSynchronize(stream_.get());
  if (status_.ok()) status_ = cuda::ToStatus(error, "cudaStreamSynchronize");
}

std::vector<absl::StatusOr<Outcome>> CudaBatchWorker::Collect() {
  const Clock::duration took = Clock::now() - launched_;
  std::vector<absl::StatusOr<Outcome>> outcomes;
  outcomes.reserve(tensors_.size());
  std::size_t reduced_bytes = 0;
  for (const Tensor& tensor : tensors_) {
    reduced_bytes += static_cast<std::size_t>(tensor.plan->input_bytes);
    outcomes.push_back(status_.ok() ? OutcomeOf(tensor) : status_);
    if (outcomes.back().ok()) outcomes.back()->times.kernel = took;
  }
  if (status_.ok()) use_.AddKernels(reduced_bytes, took);
  tensors_.clear();
  data_bytes_ = result_bytes_ = items_ = 0;
  return outcomes;
}

BatchItemStatus& CudaBatchWorker::item_status(std::size_t item) const {
  std::byte* const item_statuses = pinned_.get() + input_bytes_max_ + result_bytes_max_;
  return reinterpret_cast<BatchItemStatus*>(item_statuses)[item];
}

absl::Status CudaBatchWorker::LaunchGroups() {
  WARPFOLD_RETURN_IF_NOT_SET(ordinal_);
  std::vector<const Tensor*> order;
  order.reserve(tensors_.size());
  for (const Tensor& tensor : tensors_) order.push_back(&tensor);
  const auto kind = [](const Tensor* tensor) {
    return std::pair(tensor->plan->dtype, tensor->fused_op_set);
  };
  std::ranges::stable_sort(order, {}, kind);
  for (std::size_t i = 0; i < items_; ++i) new (&item_status(i)) BatchItemStatus;

  // The table goes behind the data, group by group; first all of it, since one copy takes it all.
  const std::size_t input_bytes = data_bytes_ + items_ * sizeof(BatchItem);
  const bool in_place = input_bytes <= limits_.in_place_bytes_max;
  const std::byte* const d_input = in_place ? pinned_.get() : d_input_.get();
  struct Group {
    cuda::Job job;
    cuda::BatchLaunch launch;
    std::size_t table;
  };
  std::vector<Group> groups;
  BatchItem* const table = reinterpret_cast<BatchItem*>(pinned_.get() + data_bytes_);
  std::size_t at = 0;
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(
        begin, order.end(), [&](const Tensor* tensor) { return kind(tensor) != kind(*begin); });
    const std::size_t first = at;
    for (auto tensor = begin; tensor != end; ++tensor) {
      WriteItems(**tensor, d_input, table + at);
      at += Rows(*(*tensor)->plan);
    }
    const auto [dtype, fused_op_set] = kind(*begin);
    groups.push_back({{.dtype = dtype, .fused_op_set = fused_op_set},
                      cuda::PlanBatch(dtype, {table + first, at - first}),
                      data_bytes_ + first * sizeof(BatchItem)});
    begin = end;
  }
  if (!in_place) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(d_input_.get(), pinned_.get(), input_bytes,
                                                  cudaMemcpyHostToDevice, stream_.get()));
  }
  for (const Group& group : groups) {
    WARPFOLD_RETURN_IF_CUDA_ERROR(
        cuda::FoldBatch(group.job, reinterpret_cast<const BatchItem*>(d_input + group.table),
                        group.launch, stream_.get()));
  }
  return absl::OkStatus();
}

void CudaBatchWorker::WriteItems(const Tensor& tensor, const std::byte* d_input, BatchItem* items) {
  const Plan& plan = *tensor.plan;
  const std::size_t rows = Rows(plan);
  const std::size_t row_bytes = static_cast<std::size_t>(plan.input_bytes) / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    BatchItem& item = *new (items + row) BatchItem;
    item.d_data = d_input + tensor.data + row * row_bytes;
    item.d_out = pinned_.get() + input_bytes_max_ + tensor.results;
    item.d_status = &item_status(tensor.item + row);
    item.correction = plan.correction;
    item.count = static_cast<std::int32_t>(plan.geometry.reduce);
    item.output_index = static_cast<std::int32_t>(row);
    item.op_stride = static_cast<std::int32_t>(OpStride(rows));
    item.op_count = static_cast<std::int32_t>(plan.ops.size());
    std::copy(plan.ops.begin(), plan.ops.end(), item.ops);
  }
}

absl::StatusOr<Outcome> CudaBatchWorker::OutcomeOf(const Tensor& tensor) const {
  const Plan& plan = *tensor.plan;
  const std::size_t rows = Rows(plan);
  for (std::size_t row = 0; row < rows; ++row) {
    const BatchItemStatus& item_status = this->item_status(tensor.item + row);
    if (item_status.outcome == BatchItemStatus::Outcome::kUndecided) return ReduceOnCpu(tensor);
    if (item_status.outcome != BatchItemStatus::Outcome::kOverflows) continue;
    Overflow overflow;
    overflow.output_index = static_cast<std::int64_t>(row);
    overflow.high = item_status.high;
    overflow.low = item_status.low;
    overflow.op = item_status.op;
    return OverflowStatus(overflow, plan);
  }
  return OrNoHostMemory([&]() -> absl::StatusOr<Outcome> {
    Outcome outcome;
    const char* results =
        reinterpret_cast<const char*>(pinned_.get() + input_bytes_max_ + tensor.results);
    for (const Op op : plan.ops) {
      outcome.results.emplace_back(results, rows * ElementBytes(ResultDType(op, plan.dtype)));
      results += OpStride(rows);
    }
    return outcome;
  });
}

absl::StatusOr<Outcome> CudaBatchWorker::ReduceOnCpu(const Tensor& tensor) const {
  const Plan& plan = *tensor.plan;
  const Geometry& g = plan.geometry;
  const ResultLayout layout(plan);
  return OrNoHostMemory([&]() -> absl::StatusOr<Outcome> {
    std::vector<char> block(layout.total_bytes());
    Overflow overflow;
    cpu::EngineFor({plan.dtype, plan.fused_op_set()})
        .FoldElements(pinned_.get() + tensor.data, {g.outer, g.reduce, g.inner},
                      layout.OutputAt(plan, block.data(), &overflow), cpu::Serial);
    if (absl::Status fits = OverflowStatus(overflow, plan); !fits.ok()) return fits;
    absl::StatusOr<std::vector<std::string>> results = layout.Extract(block.data());
    if (!results.ok()) return results.status();
    return Outcome{.results = *std::move(results)};
  });
}

}  // namespace warpfold
