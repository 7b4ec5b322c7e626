// First pass over contiguous rows for folds whose arithmetic takes a warp about as long as its tile
// takes to arrive: a warp folds several tiles, one after another, and the next one is in flight
// into shared memory meanwhile.
#ifndef WARPFOLD_KERNELS_CUDA_PIPELINED_ROWS_CUH_
#define WARPFOLD_KERNELS_CUDA_PIPELINED_ROWS_CUH_

#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/index_search.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/row_kernels.cuh"
#include "kernels/cuda/tile_passes.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// A whole tile in shared memory. A lane copies and reads its own vectors only, so that no lane
// waits for another.
template <typename T>
struct SharedTile {
  uint4 vectors[kTileRows][kLanes];

  __device__ __forceinline__ void Request(const T* tile, int lane) {
#pragma unroll
    for (int r = 0; r < kTileRows; ++r) {
      __pipeline_memcpy_async(&vectors[r][lane],
                              reinterpret_cast<const uint4*>(tile) + r * kLanes + lane,
                              sizeof(uint4));
    }
  }
};

// A lane's part of it, as LaneVectors are one in registers. Every pass reads it again: what the
// compiler would keep, widened, from one pass to the next are more registers than there are.
template <typename T>
struct SharedVectors {
  const SharedTile<T>& tile;
  int lane;

  template <bool kIsOften, typename Value, class Add, class Combine>
  __device__ __forceinline__ Value Fold(const Value& identity, const Add& add,
                                        const Combine& combine) const {
    using Item = ItemOf<T, Value, Add>;
    constexpr int kItems = kVectorBytes / static_cast<int>(sizeof(Item));
    // So many columns side by side.
    constexpr int kColumns = kItems < 4 ? kItems : 4;
    constexpr int kGroups = kItems / kColumns;
    static_assert(kGroups <= 2 || kVectorElements<T> == kVectorBytes);
    constexpr int kRowsUnrolled = kIsOften ? kTileRows : 1;
    struct alignas(sizeof(Item) * kColumns) Group {
      Item x[kColumns];
    };
    __syncwarp();
    // Lanes eight apart share banks, so they take the groups in different turns. Their values meet
    // in the same tree, as Combine is commutative; of four groups, which only bytes have, every
    // tree is the same.
    const int turn = lane / 8 % kGroups;
    Value folded = identity;
#pragma unroll 1
    for (int g = 0; g < kGroups; ++g) {
      const int first = (g ^ turn) * kColumns;
      Value columns[kColumns];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) columns[c] = identity;
#pragma unroll kRowsUnrolled
      for (int r = 0; r < kTileRows; ++r) {
        const auto* items = reinterpret_cast<const Item*>(&tile.vectors[r][lane]);
        const Group row = *reinterpret_cast<const Group*>(items + first);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const int element = (first + c) * static_cast<int>(sizeof(Item) / sizeof(T));
          add(columns[c], Lift(row.x[c]), (r * kLanes + lane) * kVectorElements<T> + element);
        }
      }
      const Value value = FoldPairwise<kColumns, Value>(
          0, [&](std::int64_t c) { return columns[c]; }, combine);
      folded = g == 0 ? value : combine(folded, value);
    }
    return folded;
  }
};

// NeededFold: F, or those of its components that anybody reads. Block: kPipelineWarps warps;
// launch.tiles tiles. Five blocks an SM are what shared memory holds with states of every size; 96
// registers a thread are what that leaves.
template <class F, class NeededFold>
__global__ void __launch_bounds__(kPipelineWarps * 32, kPipelineBlocksPerSm)
    PipelinedRowKernel(const typename F::Storage* __restrict__ data, std::int64_t first_element,
                       std::int64_t rows, std::int64_t row_elements, RowLaunch launch,
                       const __grid_constant__ Epilogue<F> epilogue) {
  using T = typename F::Storage;
  BeginPass();
  __shared__ SharedTile<T> shared[kPipelineWarps][2];
  __shared__ typename F::State states[kLanes];
  __shared__ IndexSearch<F> search;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const RowBlock block = RowBlockOf(rows, launch, launch.tiles);
  const int tiles_per_row = 1 << launch.tiles_per_row_log2;

  using Tile = BlockTile<T>;
  const auto tile_at = [&](int index) {
    const std::int64_t row = block.first_row + (index >> launch.tiles_per_row_log2);
    const std::int64_t first =
        (std::int64_t{block.part} * launch.tiles + (index & (tiles_per_row - 1))) *
        kTileElements<T>;
    const std::int64_t left = row < rows && index < launch.tiles ? row_elements - first : 0;
    return Tile{row * row_elements + first,
                static_cast<int>(left < kTileElements<T> ? left : kTileElements<T>)};
  };
  Tile next = tile_at(warp);
  if (next.IsWhole()) shared[warp][0].Request(data + next.offset, lane);
  __pipeline_commit();
  // Where the warp's other tiles are, made out by its lanes at once and kept in shared memory: in
  // registers it would not stay, and 64-bit arithmetic for each tile is a tenth of what a warp does
  // for one.
  __shared__ Tile tiles[kLanes + kPipelineWarps];
  if (lane % kPipelineWarps == warp) tiles[lane] = tile_at(lane);
  if (lane == 0) tiles[kLanes + warp] = Tile{0, 0};
  __syncwarp();
  search.Begin(epilogue);
  typename IndexSearch<F>::OfWarp search_of_warp;
  int buffer = 0;
#pragma unroll 1
  for (int index = warp; index < launch.tiles; index += kPipelineWarps) {
    const Tile tile = next;
    next = tiles[index + kPipelineWarps];
    if (next.IsWhole()) shared[warp][buffer ^ 1].Request(data + next.offset, lane);
    __pipeline_commit();
    typename F::State state = F::IdentityState();
    const ElementIndexing indexing{.first = first_element + tile.offset};
    if (tile.IsWhole()) {
      __pipeline_wait_prior(1);
      const SharedVectors<T> mine{shared[warp][buffer], lane};
      const auto tile_pass = [&](auto often, const auto& identity, const auto& add,
                                 const auto& combine) {
        return mine.template Fold<often.value>(identity, add, combine);
      };
      const auto across = search.Across(index, launch, epilogue, search_of_warp);
      state = TileState<F, NeededFold>(data + tile.offset, kTileElements<T>, lane, tile_pass,
                                       across, indexing);
    } else if (tile.count > 0) {
      state = TileStateOf<F, Presence::kAny, false>(data + tile.offset, tile.count, lane, indexing);
    }
    if (lane == 0) states[index] = state;
    buffer ^= 1;
  }
  __syncthreads();
  search.Finish(data, tiles, launch, epilogue, states);
  // Results are finished by all warps.
  if (warp != 0 && epilogue.d_states != nullptr) return;
  const typename F::State state =
      FoldLanesByNeighbours<F>(states[lane & (launch.tiles - 1)], 1, tiles_per_row);
  const std::int64_t row = block.first_row + (lane >> launch.tiles_per_row_log2);
  if (lane < launch.tiles && (lane & (tiles_per_row - 1)) == 0 && row < rows) {
    epilogue.PutByWarps(block.part, row, state, {.first = warp, .stride = kPipelineWarps});
  }
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PIPELINED_ROWS_CUH_
