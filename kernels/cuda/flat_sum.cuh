// The exact sum of elements that lie one after another: a persistent grid, whose warps take tiles a
// whole grid apart. The order in which they are added does not show.
#ifndef WARPFOLD_KERNELS_CUDA_FLAT_SUM_CUH_
#define WARPFOLD_KERNELS_CUDA_FLAT_SUM_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/digits_over_lanes.cuh"
#include "kernels/cuda/grid_sum.cuh"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/lane_sum.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/exact/finish.h"
#include "kernels/ops/op.h"

namespace warpfold::cuda {

// Where a value of 64 bits is added to the highest digit there may be, it reaches two further.
template <typename T>
inline constexpr int kFlatDigits = exact::DigitLayout<Lifted<T>, 1>::kBits / 32 + 4;
// And a word that counts what digits cannot show: 12 bits for each of exact::Specials.
template <typename T>
inline constexpr int kFlatWords = kFlatDigits<T> + 1;

// Tiles of [data, data + count): whole ones from the first multiple of 16 bytes on, and what is
// left over at both ends, gathered.
template <class Tile>
struct Tiling {
  using T = typename Tile::Element;
  const T* data;
  std::int64_t count;
  std::int64_t head;  // elements in front of the first whole tile
  std::int64_t whole_tiles;

  __device__ Tiling(const T* all, std::int64_t all_count) : data(all), count(all_count) {
    const auto misaligned =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(all) % sizeof(uint4));
    head = misaligned == 0
               ? 0
               : (static_cast<std::int64_t>(sizeof(uint4)) - misaligned) / std::int64_t{sizeof(T)};
    head = head < count ? head : count;
    whole_tiles = (count - head) / Tile::kElements;
  }
  __device__ const T* At(std::int64_t tile) const { return data + head + tile * Tile::kElements; }
  __device__ std::int64_t left_over() const { return count - whole_tiles * Tile::kElements; }
  // Left-over elements [first, first + Tile::kElements), if there are so many.
  __device__ void Gather(std::int64_t first, int lane, Tile& tile) const {
    const std::int64_t left = left_over() - first;
    const int there = static_cast<int>(left < Tile::kElements ? left : Tile::kElements);
    tile.Gather(there, lane, [&](int i) {
      const std::int64_t element = first + i;
      return data + (element < head ? element : element + whole_tiles * Tile::kElements);
    });
  }
};

// A warp's share of the tiles of `warps` warps, the next tile's loads in flight while one is
// added.
template <class Sum, class Tile>
__device__ __forceinline__ void AddTiles(const Tiling<Tile>& tiling, int warp, int warps, int lane,
                                         Sum& sum) {
  const auto left_behind = static_cast<int>((tiling.whole_tiles - warp + warps - 1) / warps);
  const typename Tile::Element* address = tiling.At(warp);
  const std::int64_t stride = std::int64_t{warps} * Tile::kElements;
  Tile next;
  if (left_behind > 0) next.Load(address, lane);
#pragma unroll 1
  for (int left = left_behind; left > 0; --left) {
    const Tile current = next;
    address += stride;
    if (left > 1) next.Load(address, lane);
    sum.Add(current);
  }
  // By the last warp, which has no more tiles than the others.
  if (warp != warps - 1) return;
#pragma unroll 1
  for (std::int64_t first = 0; first < tiling.left_over(); first += Tile::kElements) {
    Tile tile;
    tiling.Gather(first, lane, tile);
    sum.Add(tile);
  }
}

// Rows of a tile, warps of a block, blocks an SM.
//
// Beside CUB's sum of the same dtype, 256 MiB and 1 GiB (H100, 2026-11-26): f32 0.98 and 0.99, f64
// 0.99 and 1.00, f16 1.05 and 1.05, bf16 1.04 and 1.03. Tiles of four rows of f32 were 2 % slower,
// and of f64 with two 1 %.
template <int kRowCount, int kWarpCount, int kBlockCount>
struct FlatShape {
  static constexpr int kRows = kRowCount;
  static constexpr int kWarps = kWarpCount;
  static constexpr int kBlocksPerSm = kBlockCount;
};
template <typename T>
struct FlatShapeOf;
template <>
struct FlatShapeOf<float> : FlatShape<2, 8, 4> {};
template <>
struct FlatShapeOf<double> : FlatShape<4, 8, 3> {};
template <>
struct FlatShapeOf<Half> : FlatShape<4, 16, 2> {};
template <>
struct FlatShapeOf<BFloat16> : FlatShape<4, 8, 3> {};
template <typename T>
requires kIsLifted<T>
struct FlatShapeOf<T> : FlatShape<2, 16, 2> {
};

// `grid` may be null for one block.
template <typename T, class Shape>
__global__ void __launch_bounds__(Shape::kWarps * 32, Shape::kBlocksPerSm)
    FlatSumKernel(const T* __restrict__ data, std::int64_t count, GridSum<kFlatWords<T>>* grid,
                  FloatOf<T>* result) {
  constexpr int kRows = Shape::kRows;
  constexpr int kWarps = Shape::kWarps;
  using Tile = LaneTile<T, kRows>;
  __shared__ std::int64_t rows[kWarps][kFlatDigits<T>];
  __shared__ std::uint32_t specials[kWarps];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  for (int d = lane; d < kFlatDigits<T>; d += 32) rows[warp][d] = 0;
  __syncwarp();
  BeginPass();
  LaneSum<T, kRows, kWarps * 32> sum({rows[warp], lane}, DynamicSharedMemory(), thread);
  AddTiles(Tiling<Tile>(data, count), static_cast<int>(blockIdx.x) * kWarps + warp,
           static_cast<int>(gridDim.x) * kWarps, lane, sum);
  sum.Close();
  const std::uint32_t of_warp = OrOverWarp(sum.specials());
  if (lane == 0) specials[warp] = of_warp;
  __syncthreads();
  if (warp != 0) return;
  DigitsOverLanes<kFlatWords<T>> digits;
#pragma unroll
  for (int m = 0; m < digits.kMine; ++m) {
    const int d = lane + 32 * m;
    digits.mine[m] = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) digits.mine[m] += d < kFlatDigits<T> ? rows[w][d] : 0;
  }
  std::uint32_t all = OrOverWarp(lane < kWarps ? specials[lane] : 0);
  if (gridDim.x > 1) {
    digits.template CarryOnce<true>(lane);
    constexpr int kFlagBits = 12;
    std::int64_t flags = 0;
#pragma unroll
    for (int f = 0; f < 4; ++f) flags |= std::int64_t{all >> f & 1} << (kFlagBits * f);
    constexpr int kFlagsAt = kFlatDigits<T>;
    if (lane == kFlagsAt % 32) digits.mine[kFlagsAt / 32] = flags;
    if (!AddOverGrid(grid, digits, lane)) return;
    flags = digits.At(kFlagsAt);
    if (lane == kFlagsAt % 32) digits.mine[kFlagsAt / 32] = 0;
    all = 0;
#pragma unroll
    for (int f = 0; f < 4; ++f) {
      all |= (flags >> (kFlagBits * f) & ((1 << kFlagBits) - 1)) != 0 ? 1u << f : 0u;
    }
  }
  const SignedLeading total = LeadingOf(digits, exact::DigitLayout<Lifted<T>, 1>::kUnit, lane);
  if (lane != 0) return;
  *result = exact::FinishSum<FloatOf<T>>(total.magnitude, total.is_negative,
                                         {.count = count, .specials = all});
}

// One block takes so much: what another kilobyte adds to it is less than a second one would.
inline constexpr std::int64_t kOneBlockBytes = 64 << 10;

template <typename T, class Shape = FlatShapeOf<T>>
cudaError_t LaunchFlatSum(const T* d_data, std::int64_t count, const DeviceShape& device,
                          GridSum<kFlatWords<T>>* d_grid, FloatOf<T>* d_result,
                          cudaStream_t stream) {
  constexpr int kThreads = Shape::kWarps * 32;
  constexpr int kSharedBytes = LaneSum<T, Shape::kRows, kThreads>::kBlockBytes;
  const std::int64_t tiles = count / LaneTile<T, Shape::kRows>::kElements;
  const bool is_small = count <= kOneBlockBytes / std::int64_t{sizeof(T)};
  const std::int64_t room =
      is_small ? 1 : std::min(device.sm_count * Shape::kBlocksPerSm, kGridBlocksMax);
  const std::int64_t blocks = std::clamp<std::int64_t>(CeilDiv(tiles, Shape::kWarps), 1, room);
  return LaunchPass(FlatSumKernel<T, Shape>,
                    {.blocks = static_cast<unsigned>(blocks),
                     .threads = kThreads,
                     .overlaps = device.overlaps_passes,
                     .shared_bytes = kSharedBytes},
                    stream, d_data, count, d_grid, d_result);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_FLAT_SUM_CUH_
