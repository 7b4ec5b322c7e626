// The sum of what the blocks of a grid have, without a second pass: each block adds its digits to
// words in global memory, which count the blocks as well, so that the block that adds last sees the
// total come back. No block waits for another, and nothing is read twice.
#ifndef WARPFOLD_KERNELS_CUDA_GRID_SUM_CUH_
#define WARPFOLD_KERNELS_CUDA_GRID_SUM_CUH_

#include <cstdint>

#include "kernels/cuda/digits_over_lanes.cuh"
#include "kernels/cuda/warp.cuh"

namespace warpfold::cuda {

// All zeros before a launch, and again after it.
template <int kCount>
struct GridSum {
  // The number of additions from bit kCountBit on; below it their sum, each kBias too large.
  unsigned long long words[kCount];
  // Of the words whose last addition was another block's than others'.
  long long handed_over[kCount];
  unsigned int handed_over_count;
};

inline constexpr int kGridCountBit = 52;
inline constexpr int kGridBlocksMax = (1 << (64 - kGridCountBit)) - 1;

// By one warp of each block, whose digits are below 2^38. True for one of them, which then has the
// grid's.
template <int kCount>
__device__ bool AddOverGrid(GridSum<kCount>* grid, DigitsOverLanes<kCount>& digits, int lane) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << kGridCountBit;
  constexpr std::int64_t kBias = std::int64_t{1} << 39;
  constexpr int kMine = DigitsOverLanes<kCount>::kMine;
  const unsigned blocks = gridDim.x;
  const auto is_mine = [&](int m) { return lane + 32 * m < kCount; };
  std::uint64_t before[kMine];
  std::uint64_t added[kMine];
#pragma unroll
  for (int m = 0; m < kMine; ++m) {
    added[m] = kOne + static_cast<std::uint64_t>(digits.mine[m] + kBias);
    before[m] = is_mine(m) ? atomicAdd(&grid->words[lane + 32 * m], added[m]) : 0;
  }
  unsigned last_count = 0;  // of the words, those whose last addition was this one
  bool is_last[kMine];
#pragma unroll
  for (int m = 0; m < kMine; ++m) {
    is_last[m] = is_mine(m) && before[m] >> kGridCountBit == blocks - 1;
    last_count += __popc(__ballot_sync(kFullWarp, is_last[m]));
    if (!is_last[m]) continue;
    digits.mine[m] = static_cast<std::int64_t>((before[m] + added[m]) & (kOne - 1)) -
                     kBias * static_cast<std::int64_t>(blocks);
    grid->words[lane + 32 * m] = 0;
  }
  if (last_count == kCount) return true;
  if (last_count == 0) return false;
    // The one that hands over last collects.
#pragma unroll
  for (int m = 0; m < kMine; ++m) {
    if (is_last[m]) __stcg(&grid->handed_over[lane + 32 * m], digits.mine[m]);
  }
  __threadfence();
  __syncwarp();
  unsigned handed_over = 0;
  if (lane == 0) handed_over = atomicAdd(&grid->handed_over_count, last_count) + last_count;
  if (__shfl_sync(kFullWarp, handed_over, 0) != kCount) return false;
  __threadfence();
#pragma unroll
  for (int m = 0; m < kMine; ++m) {
    digits.mine[m] = is_mine(m) ? __ldcg(&grid->handed_over[lane + 32 * m]) : 0;
  }
  if (lane == 0) grid->handed_over_count = 0;
  return true;
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_GRID_SUM_CUH_
