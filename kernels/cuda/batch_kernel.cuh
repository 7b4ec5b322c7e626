// The batched launch: one item of a table for a warp, or for two, four or all of a block's, which
// take its tiles.
//
// Blocks of one size and shapes in the table, so that it is compiled once for each fold.
#ifndef WARPFOLD_KERNELS_CUDA_BATCH_KERNEL_CUH_
#define WARPFOLD_KERNELS_CUDA_BATCH_KERNEL_CUH_

#include <cstdint>

#include "kernels/cuda/batch.h"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/row_kernels.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/exact/folds.h"
#include "kernels/finish.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// Writes what the item asks for. A thread that sees the item_status sees it all.
template <class F>
__device__ __forceinline__ void FinishItem(const BatchItem& item, const typename F::State& state) {
  BatchItemStatus item_status;
  item_status.outcome = BatchItemStatus::Outcome::kFits;
  if (item.op_count == 0) {
    *static_cast<typename F::State*>(item.d_out) = state;
  } else {
    // One op at a time, so that the targets stay in registers.
    ResultTargets targets;
    targets.count = 1;
    targets.reduced_count = item.count;
    targets.correction = item.correction;
    targets.reduced_run_count = 1;
    targets.reduced_runs[0] = {1, item.count};
    const exact::Divisors divisors(item.count, item.correction);
    for (int i = 0; i < item.op_count; ++i) {
      targets.ops[0] = item.ops[i];
      targets.arrays[0] = static_cast<char*>(item.d_out) + std::int64_t{item.op_stride} * i;
      OpOverflow op_overflow;
      int fitting = 1;
      if constexpr (exact::kIsExact<F>) {
        exact::UndecidedBits undecided_bits;
        fitting = exact::WriteFoldResults<F, 1>(targets, divisors, item.output_index, &state,
                                                &op_overflow, &undecided_bits);
        if (undecided_bits.outputs != 0) {
          item_status.outcome = BatchItemStatus::Outcome::kUndecided;
          break;
        }
      } else {
        fitting = WriteResults<F, 1>(targets, item.output_index, &state, &op_overflow);
      }
      if (fitting == 1) continue;
      item_status = {BatchItemStatus::Outcome::kOverflows, op_overflow.op,
                     static_cast<std::int64_t>(op_overflow.sum >> 64),
                     static_cast<std::uint64_t>(op_overflow.sum)};
    }
  }
  if (item.d_status == nullptr) return;
  item.d_status->op = item_status.op;
  item.d_status->high = item_status.high;
  item.d_status->low = item_status.low;
  __threadfence_system();
  *reinterpret_cast<volatile std::uint32_t*>(&item.d_status->outcome) =
      static_cast<std::uint32_t>(item_status.outcome);
}

// Tile `tile` of an item; the identity past its end.
template <class F>
__device__ __forceinline__ typename F::State FoldItemTile(const typename F::Storage* data,
                                                          int count, std::int64_t tile, int lane) {
  using T = typename F::Storage;
  const int first = static_cast<int>(tile) * kTileElements<T>;
  const int left = count - first < kTileElements<T> ? count - first : kTileElements<T>;
  const ElementIndexing indexing{.first = first};
  // Few paths, for each costs a second of compilation a fold: straight code where the accumulators
  // are few and vectors can load the tile.
  if constexpr (!kHasManyAccumulators<F>) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % kVectorBytes == 0;
    if (is_aligned && left % kVectorElements<T> == 0) {
      return TileStateOf<F, Presence::kVectors, true>(data + first, left, lane, indexing);
    }
  }
  return TileStateOf<F, Presence::kAny, false>(data + first, left, lane, indexing);
}

template <class F>
__global__ void __launch_bounds__(kBatchWarps * 32,
                                  (kHasManyAccumulators<F> ? 16 : 32) / kBatchWarps)
    BatchKernel(const BatchItem* __restrict__ items, const __grid_constant__ BatchLaunch launch) {
  using State = typename F::State;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const BatchLaunch::Block block = launch.At(blockIdx.x);
  const int warps_per_item = block.warps_per_item;
  const auto item_of_warp = [&](int w) { return block.first_item + w / warps_per_item; };
  const std::uint32_t mine = item_of_warp(warp);
  int count = 0;
  const typename F::Storage* data = nullptr;
  if (mine < block.items_end) {
    count = items[mine].count;
    data = static_cast<const typename F::Storage*>(items[mine].d_data);
  }
  const int tiles =
      (count + kTileElements<typename F::Storage> - 1) / kTileElements<typename F::Storage>;
  int tiles_per_warp = 1;
  while (tiles_per_warp * warps_per_item < tiles) tiles_per_warp *= 2;
  const std::int64_t first_tile = (warp & (warps_per_item - 1)) * tiles_per_warp;
  const auto tile = [&](int t) { return FoldItemTile<F>(data, count, first_tile + t, lane); };
  const auto combine = [](const State& a, const State& b) { return F::Combine(a, b); };
  State state = FoldInLoop(F::IdentityState(), tiles_per_warp, tile, combine);

  std::uint32_t finished = mine;
  bool is_writer = lane == 0;
  if (warps_per_item > 1) {
    __shared__ State states[kBatchWarps];
    if (lane == 0) states[warp] = state;
    __syncthreads();
    if (warp != 0) return;
    state = FoldLanesByNeighbours<F>(states[lane % kBatchWarps], 1, warps_per_item);
    finished = item_of_warp(lane % kBatchWarps);
    is_writer = lane < kBatchWarps && (lane & (warps_per_item - 1)) == 0;
  }
  if (is_writer && finished < block.items_end) FinishItem<F>(items[finished], state);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_BATCH_KERNEL_CUH_
