// First pass over contiguous rows: reduce6 of the seven steps, with the shuffles and 16-byte loads
// of today's GPUs.
//
// A lane adds several elements while it loads (kTileRows vectors), the vector's elements fold, the
// lanes fold by halves: that is a tile. The tiles of a block fold as a binary tree over the tile
// index and leave one state: the result, or a partial for the second pass. docs/order.md is the
// definition of this order.
#ifndef WARPFOLD_KERNELS_CUDA_ROW_KERNELS_CUH_
#define WARPFOLD_KERNELS_CUDA_ROW_KERNELS_CUH_

#include <cstdint>

#include "kernels/canonical.h"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/sink.cuh"
#include "kernels/cuda/warp.cuh"

namespace warpfold::cuda {

// 16 bytes, read once and not kept in L1.
__device__ __forceinline__ uint4 LoadVector(const void* address) {
  return __ldcs(static_cast<const uint4*>(address));
}

// One element, read once and not kept in L1.
template <typename T>
__device__ __forceinline__ T LoadElement(const T* address) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, unsigned char,
      std::conditional_t<sizeof(T) == 2, unsigned short,
                         std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>>;
  return BitCast<T>(__ldcs(reinterpret_cast<const Bits*>(address)));
}

// Neighbouring pairs of a lane's vector: ((v0 + v1) + (v2 + v3)) + ...
template <class C, int kCount>
__device__ __forceinline__ typename C::Acc FoldVector(typename C::Acc (&acc)[kCount]) {
#pragma unroll
  for (int step = 1; step < kCount; step *= 2) {
#pragma unroll
    for (int v = 0; v < kCount; v += 2 * step) acc[v] = C::Combine(acc[v], acc[v + step]);
  }
  return acc[0];
}

// A lane's part of a tile, as it was loaded: kTileRows vectors.
template <typename T>
struct LaneTile {
  uint4 rows[kTileRows];
};

// Of a tile of which all elements exist and whose base is 16-byte aligned.
template <typename T>
__device__ __forceinline__ LaneTile<T> LoadWholeTile(const T* tile, int lane) {
  LaneTile<T> loaded;
#pragma unroll
  for (int row = 0; row < kTileRows; ++row) {
    loaded.rows[row] = LoadVector(tile + row * kRowElements<T> + lane * kVectorElements<T>);
  }
  return loaded;
}

// Of a tile that ends after `count` elements or starts anywhere; what lies past the end is 0.
template <typename T>
__device__ __forceinline__ LaneTile<T> LoadPartTile(const T* tile, int count, int lane) {
  LaneTile<T> loaded;
#pragma unroll
  for (int row = 0; row < kTileRows; ++row) {
    T x[kVectorElements<T>] = {};
#pragma unroll
    for (int v = 0; v < kVectorElements<T>; ++v) {
      const int i = row * kRowElements<T> + lane * kVectorElements<T> + v;
      if (i < count) x[v] = LoadElement(tile + i);
    }
    memcpy(&loaded.rows[row], x, sizeof(x));
  }
  return loaded;
}

// One component of a warp's tile, folded. kWhole: all elements exist.
template <typename T, class C, bool kWhole>
__device__ __forceinline__ typename C::Acc FoldLoadedTile(const LaneTile<T>& loaded, int count,
                                                          int lane) {
  constexpr int kVector = kVectorElements<T>;
  typename C::Acc acc[kVector];
#pragma unroll
  for (auto& a : acc) a = C::Identity();
#pragma unroll
  for (int row = 0; row < kTileRows; ++row) {
    T x[kVector];
    memcpy(x, &loaded.rows[row], sizeof(x));
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      if (kWhole || row * kRowElements<T> + lane * kVector + v < count) C::Add(acc[v], x[v]);
    }
  }
  return FoldLanesByHalves<C>(FoldVector<C>(acc), kLanes);
}

// A warp's tile, folded; every lane returns it. `count` may be 0 or less: the identity. A component
// at a time, so that the running values of one are all that the registers hold beside the tile.
template <class F, bool kAligned>
__device__ __forceinline__ typename F::Acc FoldTile(const typename F::Element* tile, int count,
                                                    int lane) {
  using T = typename F::Element;
  typename F::Acc folded;
  if (kAligned && count == kTileElements<T>) {
    const LaneTile<T> loaded = LoadWholeTile(tile, lane);
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      F::template Get<C>(folded) = FoldLoadedTile<T, C, true>(loaded, count, lane);
    });
  } else {
    const LaneTile<T> loaded = LoadPartTile(tile, count, lane);
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      F::template Get<C>(folded) = FoldLoadedTile<T, C, false>(loaded, count, lane);
    });
  }
  return folded;
}

// Block: launch.warps warps. kAligned: every row starts on 16 bytes.
//
// The bound of 1,024 threads an SM gives the compiler 64 registers a thread, so that all eight
// loads of a tile are in flight at once; without it ptxas chose 32 for f32 sums and put the loads
// in halves: 63.4 instead of 60.2 us for 256 MiB (H200, 2026-11-21).
template <class F, int kWarps, bool kAligned>
__global__ void __launch_bounds__(kWarps * 32, 32 / kWarps)
    RowKernel(const typename F::Element* __restrict__ data, std::int64_t rows,
              std::int64_t row_elements, RowLaunch launch, const __grid_constant__ Sink<F> sink) {
  using T = typename F::Element;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  // A grid has fewer than 2^31 blocks, and a division of 64 bits would take a block of one tile a
  // tenth of its life.
  const unsigned row_block =
      rows == 1 ? 0 : blockIdx.x / static_cast<unsigned>(launch.blocks_per_row);
  const unsigned part = blockIdx.x - row_block * static_cast<unsigned>(launch.blocks_per_row);
  const int warps_per_row = 1 << launch.warps_per_row_log2;
  const std::int64_t first_row = std::int64_t{row_block} * (kWarps >> launch.warps_per_row_log2);
  const std::int64_t row = first_row + (warp >> launch.warps_per_row_log2);
  const std::int64_t tile = std::int64_t{part} * kWarps + (warp & (warps_per_row - 1));

  const std::int64_t first = tile * kTileElements<T>;
  const std::int64_t left = row < rows ? row_elements - first : 0;
  const int count = static_cast<int>(left < kTileElements<T> ? left : kTileElements<T>);
  const typename F::State state =
      F::Promote(FoldTile<F, kAligned>(data + row * row_elements + first, count, lane));

  if (warps_per_row == 1) {
    if (lane == 0 && row < rows) sink.Put(part, row, state);
    return;
  }
  __shared__ typename F::State tiles[kWarps];
  if (lane == 0) tiles[warp] = state;
  __syncthreads();
  if (warp != 0) return;
  const typename F::State folded = FoldLanesByNeighbours<F>(tiles[lane % kWarps], 1, warps_per_row);
  const std::int64_t my_row = first_row + (lane >> launch.warps_per_row_log2);
  if (lane < kWarps && (lane & (warps_per_row - 1)) == 0 && my_row < rows) {
    sink.Put(part, my_row, folded);
  }
}

// Rows of at most half a warp's load: 2^launch.lanes_log2 lanes hold a row in one vector each.
template <class F, bool kAligned>
__global__ void __launch_bounds__(kShortRowThreads)
    ShortRowKernel(const typename F::Element* __restrict__ data, std::int64_t rows,
                   int row_elements, ShortRowLaunch launch, const __grid_constant__ Sink<F> sink) {
  using T = typename F::Element;
  constexpr int kVector = kVectorElements<T>;
  const int lanes = 1 << launch.lanes_log2;
  const int rows_per_step = kShortRowThreads >> launch.lanes_log2;
  const std::int64_t first_row = std::int64_t{blockIdx.x} * rows_per_step * kShortRowBatch +
                                 (threadIdx.x >> launch.lanes_log2);
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int count =
      row_elements - lane * kVector;  // of this lane's vector, may exceed it or be negative

  T x[kShortRowBatch][kVector];
#pragma unroll
  for (int b = 0; b < kShortRowBatch; ++b) {
    const std::int64_t row = first_row + b * rows_per_step;
    if (row >= rows) continue;
    const T* vector = data + row * row_elements + lane * kVector;
    if (kAligned && count >= kVector) {
      const uint4 raw = LoadVector(vector);
      memcpy(x[b], &raw, sizeof(raw));
    } else {
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        if (v < count) x[b][v] = LoadElement(vector + v);
      }
    }
  }
#pragma unroll
  for (int b = 0; b < kShortRowBatch; ++b) {
    const std::int64_t row = first_row + b * rows_per_step;
    typename F::Acc folded;
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      typename C::Acc acc[kVector];
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        acc[v] = C::Identity();
        if (row < rows && v < count) C::Add(acc[v], x[b][v]);
      }
      F::template Get<C>(folded) = FoldLanesByHalves<C>(FoldVector<C>(acc), lanes);
    });
    if (lane == 0 && row < rows) sink.Put(0, row, F::Promote(folded));
  }
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_ROW_KERNELS_CUH_
