// A lane's part of a tile, in registers: the tile's elements lie one after another, and each row of
// a warp's loads takes 512 bytes of them, 16 a lane.
#ifndef WARPFOLD_KERNELS_CUDA_LANE_TILE_CUH_
#define WARPFOLD_KERNELS_CUDA_LANE_TILE_CUH_

#include <cstdint>

#include "kernels/cuda/row_kernels.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

template <typename T, int kRowCount>
struct LaneTile {
  using Element = T;
  static constexpr int kRows = kRowCount;
  static constexpr int kElements = kRows * kRowElements<T>;  // of all lanes
  static constexpr int kLaneElements = kRows * kVectorElements<T>;

  uint4 rows[kRows];

  // A whole tile, at a multiple of 16 bytes.
  __device__ __forceinline__ void Load(const T* tile, int lane) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      rows[r] = LoadVector(tile + r * kRowElements<T> + lane * kVectorElements<T>);
    }
  }

  // Elements [0, count), of which element i is at(i); -0.0, which adds nothing, behind them.
  template <class At>
  __device__ __forceinline__ void Gather(int count, int lane, const At& at) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      T vector[kVectorElements<T>];
#pragma unroll
      for (int v = 0; v < kVectorElements<T>; ++v) {
        const int i = r * kRowElements<T> + lane * kVectorElements<T> + v;
        vector[v] = i < count ? LoadElement(at(i)) : NegativeZero<T>();
      }
      memcpy(&rows[r], vector, sizeof(uint4));
    }
  }

  // visit(element, number) in straight code; number < kLaneElements.
  template <class Visit>
  __device__ __forceinline__ void ForEachStored(const Visit& visit) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      T vector[kVectorElements<T>];
      memcpy(vector, &rows[r], sizeof(uint4));
#pragma unroll
      for (int v = 0; v < kVectorElements<T>; ++v) visit(vector[v], r * kVectorElements<T> + v);
    }
  }
  // The same of lifted elements.
  template <class Visit>
  __device__ __forceinline__ void ForEach(const Visit& visit) const {
    ForEachStored([&](T x, int number) { visit(Lift(x), number); });
  }

  // visit(word) of each 32 bits.
  template <class Visit>
  __device__ __forceinline__ void ForEachWord(const Visit& visit) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      visit(rows[r].x);
      visit(rows[r].y);
      visit(rows[r].z);
      visit(rows[r].w);
    }
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_TILE_CUH_
