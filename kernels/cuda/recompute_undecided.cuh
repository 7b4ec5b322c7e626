// The kernels of RecomputeUndecided (output_sums.h). How many outputs are undecided only the stream
// knows: of few the warps of all the GPU share each one's rows and add to sums that they share; of
// more than there are such sums each warp takes whole outputs, one after another.
#ifndef WARPFOLD_KERNELS_CUDA_RECOMPUTE_UNDECIDED_CUH_
#define WARPFOLD_KERNELS_CUDA_RECOMPUTE_UNDECIDED_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/output_sums.cuh"
#include "kernels/cuda/output_sums.h"
#include "kernels/cuda/warp.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// Sums of outputs: those that are shared, and behind them each warp's own.
struct RecomputeSlots {
  std::int64_t shared = 0;
  std::int64_t own = 0;
};

// What there is to recompute, as a kernel finds it.
struct FoundUndecided {
  Outputs outputs;
  bool shares = false;  // they are no more than the shared sums

  __device__ FoundUndecided(const UndecidedOutputs& undecided, std::int64_t shared_slots) {
    const std::int64_t found = undecided.list.counts->all;
    const bool is_listed = found <= undecided.list.capacity;
    outputs = {.count = is_listed ? found : undecided.outputs,
               .d_numbers = is_listed ? undecided.list.numbers : nullptr};
    shares = outputs.count <= shared_slots;
  }
};

// By `lanes` lanes, of which this is number `lane`.
template <class Sums>
__device__ __forceinline__ void ClearSums(Sums* sums, int lane, int lanes) {
  constexpr int kWords = sizeof(Sums) / sizeof(std::int64_t);
  auto* const words = reinterpret_cast<std::int64_t*>(sums);
#pragma unroll 1
  for (int w = lane; w < kWords; w += lanes) words[w] = 0;
}

// Rows are a warp's, short ones too, which more kernels would add faster.
template <typename T, exact::Sums kSums>
__global__ void __launch_bounds__(kBinWarps<T, kSums>* kLanes)
    RecomputeUndecidedKernel(const __grid_constant__ UndecidedOutputs undecided, bool omits_nan,
                             RecomputeSlots slots, const __grid_constant__ ResultTargets targets,
                             OutputSums<Lifted<T>, kSums>* sums) {
  constexpr int kWarps = kBinWarps<T, kSums>;
  BeginPass();
  const FoundUndecided found(undecided, slots.shared);
  if (found.outputs.count == 0) return;
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  std::int64_t* const words = reinterpret_cast<std::int64_t*>(DynamicSharedMemory()) +
                              warp * (kBinBytes<T, kSums> / static_cast<int>(sizeof(std::int64_t)));
  ClearWords<T, kSums>(words, lane);

  const std::int64_t number_of_warp = std::int64_t{blockIdx.x} * kWarps + warp;
  const std::int64_t all_warps = std::int64_t{gridDim.x} * kWarps;
  const std::int64_t parts = undecided.output_rows.rows_per_output();
  RowsToAdd work{.extent = undecided.tensor.extent,
                 .output_rows = undecided.output_rows,
                 .is_by_output = true,
                 .outputs = found.outputs,
                 .omits_nan = omits_nan,
                 .rows = found.outputs.count * parts};
  work.Cut(all_warps * kLanes, kLanes);
  // A warp's turn is a row's chunk, or all chunks of an output.
  const std::int64_t rows_per_item = found.shares ? 1 : parts;
  const std::int64_t items = found.shares ? work.rows : found.outputs.count;
  const std::int64_t turns = found.shares ? items * work.chunks_per_row : items;
  const std::int64_t warps = found.shares ? all_warps : min(all_warps, slots.own);
  const std::int64_t own_slot = slots.shared + number_of_warp;
  if (number_of_warp >= warps) return;
#pragma unroll 1
  for (std::int64_t turn = number_of_warp; turn < turns; turn += warps) {
    const std::int64_t item = turn % items;
    if (!found.shares) {
      ClearSums(sums + own_slot, lane, kLanes);
      __syncwarp();
    }
    const std::int64_t first_step = found.shares ? turn / items : 0;
    const std::int64_t end_step =
        found.shares ? first_step + 1 : rows_per_item * work.chunks_per_row;
#pragma unroll 1
    for (std::int64_t step = first_step; step < end_step; ++step) {
      const std::int64_t part = found.shares ? 0 : step / work.chunks_per_row;
      const RowsToAdd::Location location = work.LocationOf(item * rows_per_item + part);
      const std::int64_t begin = step % work.chunks_per_row * work.chunk_elements;
      AddRow<T, kSums, kLanes>(static_cast<const T*>(undecided.tensor.d_data) + location.offset,
                               work.extent.inner, begin + lane,
                               min(begin + work.chunk_elements, work.extent.count), omits_nan,
                               words, sums + (found.shares ? location.sums : own_slot));
    }
    if (found.shares) continue;
    __threadfence();  // the warp's additions are seen by what it reads
    __syncwarp();
    FinishOutput<T, kSums>(sums[own_slot], found.outputs.NumberOf(item), omits_nan, targets, lane,
                           kLanes);
    __syncwarp();
  }
}

// The results of what the shared sums hold, which are zeros again, as is the number of undecided.
// One block, after which nobody reads that.
template <typename T, exact::Sums kSums>
__global__ void __launch_bounds__(kFinishThreads)
    FinishSharedKernel(const __grid_constant__ UndecidedOutputs undecided, bool omits_nan,
                       RecomputeSlots slots, const __grid_constant__ ResultTargets targets,
                       OutputSums<Lifted<T>, kSums>* sums) {
  BeginPass();
  const FoundUndecided found(undecided, slots.shared);
  if (found.outputs.count == 0) return;
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) *undecided.list.counts = {};
  if (!found.shares) return;
#pragma unroll 1
  for (std::int64_t i = thread; i < found.outputs.count; i += kFinishThreads) {
    FinishOutput<T, kSums>(sums[i], found.outputs.NumberOf(i), omits_nan, targets, 0, 1);
    ClearSums(sums + i, 0, 1);
  }
}

template <typename T, exact::Sums kSums>
RecomputeSlots RecomputeSlotsOf(const SumsJob& job, std::int64_t outputs) {
  constexpr std::int64_t kBytes = sizeof(OutputSums<Lifted<T>, kSums>);
  constexpr std::int64_t kSharedMax = std::min<std::int64_t>(1024, (256 << 10) / kBytes);
  RecomputeSlots slots{.shared = std::min(outputs, kSharedMax)};
  if (slots.shared < outputs) slots.own = std::min(WarpsOf<T, kSums>(job.device), outputs);
  return slots;
}

template <typename T>
RecomputeBytes OutputSumsOf<T>::BytesToRecompute(const SumsJob& job, std::int64_t outputs) {
  return VisitSums(job, [&]<exact::Sums kSums>() {
    constexpr std::size_t kBytes = sizeof(OutputSums<Lifted<T>, kSums>);
    const RecomputeSlots slots = RecomputeSlotsOf<T, kSums>(job, outputs);
    return RecomputeBytes{.zeroed = static_cast<std::size_t>(slots.shared) * kBytes,
                          .all = static_cast<std::size_t>(slots.shared + slots.own) * kBytes};
  });
}

template <typename T>
cudaError_t OutputSumsOf<T>::Recompute(const SumsJob& job, const UndecidedOutputs& undecided,
                                       const ResultTargets& targets, void* d_memory,
                                       cudaStream_t stream) {
  return VisitSums(job, [&]<exact::Sums kSums>() {
    constexpr int kWarps = kBinWarps<T, kSums>;
    const Extent& extent = undecided.tensor.extent;
    const RecomputeSlots slots = RecomputeSlotsOf<T, kSums>(job, undecided.outputs);
    auto* const sums = static_cast<OutputSums<Lifted<T>, kSums>*>(d_memory);
    // No more warps than all of the tensor's rows would keep busy.
    const std::int64_t lanes_of_all =
        std::max(CeilDiv(extent.outputs() * extent.count, RowsToAdd::kLaneElementsMin),
                 undecided.outputs * kLanes);
    const std::int64_t blocks =
        std::min(WarpsOf<T, kSums>(job.device) / kWarps, CeilDiv(lanes_of_all, kLanes * kWarps));
    const PassLaunch launch{.blocks = static_cast<unsigned>(blocks),
                            .threads = kWarps * kLanes,
                            .overlaps = job.device.overlaps_passes,
                            .shared_bytes = kBinBytes<T, kSums> * kWarps};
    const cudaError_t error = LaunchPass(RecomputeUndecidedKernel<T, kSums>, launch, stream,
                                         undecided, job.omits_nan, slots, targets, sums);
    if (error != cudaSuccess) return error;
    return LaunchPass(
        FinishSharedKernel<T, kSums>,
        {.blocks = 1, .threads = kFinishThreads, .overlaps = job.device.overlaps_passes}, stream,
        undecided, job.omits_nan, slots, targets, sums);
  });
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_RECOMPUTE_UNDECIDED_CUH_
