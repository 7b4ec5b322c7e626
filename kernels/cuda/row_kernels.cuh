// First pass over contiguous rows: reduce6 of the seven steps, with the shuffles and 16-byte loads
// of today's GPUs.
//
// A lane adds several elements while it loads (kTileRows vectors), the vector's elements fold, the
// lanes fold by halves: that is a tile. The tiles of a block leave one state: the result, or a
// partial for the second pass. No result depends on that order.
#ifndef WARPFOLD_KERNELS_CUDA_ROW_KERNELS_CUH_
#define WARPFOLD_KERNELS_CUDA_ROW_KERNELS_CUH_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/tile_passes.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// 16 bytes, read once and not kept in L1.
__device__ __forceinline__ uint4 LoadVector(const void* address) {
  return __ldcs(static_cast<const uint4*>(address));
}

// One element, read once and not kept in L1.
template <typename T>
__device__ __forceinline__ T LoadElement(const T* address) {
  // __ldcs takes unsigned long long, not the unsigned long that std::uint64_t is.
  using Bits = std::conditional_t<kKeyBits<T> == 64, unsigned long long, BitsOf<T>>;
  return BitCast<T>(__ldcs(reinterpret_cast<const Bits*>(address)));
}

// Which elements of a tile or short row exist: all; whole vectors of 16 bytes, on an address that
// is a multiple of that; or any number of them, anywhere.
enum class Presence { kAll, kVectors, kAny };

// A lane's part of a tile (kTileRows vectors) or of a short row (one): element v of vector r is
// number r * kRowElements<T> + first + v. Those numbered `count` or more do not exist.
//
// kUnrolled: as straight code, x in registers. Otherwise as loops, for the paths of folds with many
// accumulators that are not worth minutes of compilation.
template <typename T, int kRows, Presence kPresence, bool kUnrolled>
struct LaneVectors {
  static constexpr int kVector = kVectorElements<T>;
  T x[kRows][kVector];
  int first;
  int count;

  __device__ int Number(int r, int v) const { return r * kRowElements<T> + first + v; }
  __device__ bool Exists(int r, int v) const {
    return kPresence == Presence::kAll ||
           Number(r, kPresence == Presence::kVectors ? 0 : v) < count;
  }

  // Element 0 is at `address`.
  __device__ __forceinline__ void Load(const T* address) {
    address += first;
    if constexpr (kPresence == Presence::kAny) {
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(address) % sizeof(uint4) == 0;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const T* vector = address + r * kRowElements<T>;
        if (!kUnrolled && is_aligned && Exists(r, kVector - 1)) {
          const uint4 raw = LoadVector(vector);
          memcpy(x[r], &raw, sizeof(uint4));
          continue;
        }
#pragma unroll
        for (int v = 0; v < kVector; ++v) x[r][v] = Exists(r, v) ? LoadElement(vector + v) : T{};
      }
    } else {
      uint4 raw[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        raw[r] = Exists(r, 0) ? LoadVector(address + r * kRowElements<T>) : uint4{};
      }
      // Or ptxas puts some of the loads behind the first additions, to save registers: of the
      // statistics of f64 half of them.
      if constexpr (kRows > 1) __syncwarp();
#pragma unroll
      for (int r = 0; r < kRows; ++r) memcpy(x[r], &raw[r], sizeof(uint4));
    }
  }

  // Every element add(value, x, number), one after another.
  template <typename Value, class Add>
  __device__ __forceinline__ void AddTo(Value& value, const Add& add) const {
    static_assert(kRows == 1 && kUnrolled);
    using Item = std::conditional_t<kPresence != Presence::kAny, ItemOf<T, Value, Add>, T>;
    constexpr int kItemElements = sizeof(Item) / sizeof(T);
#pragma unroll
    for (int v = 0; v < kVector; v += kItemElements) {
      Item item;
      memcpy(&item, &x[0][v], sizeof(item));
      if (Exists(0, v)) add(value, Lift(item), Number(0, v));
    }
  }

  // Column by column add(a, x, number), from the identity; then the columns. Of elements that `add`
  // takes packed, a column is one of those.
  template <typename Value, class Add, class Combine>
  __device__ __forceinline__ Value Fold(const Value& identity, const Add& add,
                                        const Combine& combine) const {
    using Item = std::conditional_t<kPresence != Presence::kAny, ItemOf<T, Value, Add>, T>;
    constexpr int kItemElements = sizeof(Item) / sizeof(T);
    constexpr int kColumns = kVector / kItemElements;
    const auto column = [&](std::int64_t c) {
      Value value = identity;
      const int v = static_cast<int>(c) * kItemElements;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        Item item;
        memcpy(&item, &x[r][v], sizeof(item));
        if (Exists(r, v)) add(value, Lift(item), Number(r, v));
      }
      return value;
    };
    if constexpr (kUnrolled) {
      return FoldPairwise<kColumns, Value>(0, column, combine);
    } else {
      return FoldInLoop(identity, kColumns, column, combine);
    }
  }
};

// The sum of a warp's tile in pairs, its elements read again; all lanes return it. Out of line, as
// few tiles come here: beside the tile's elements there are no registers for it.
template <class F>
__device__ __noinline__ exact::Pair AddTileInPairs(const typename F::Storage* tile, int count,
                                                   int lane) {
  using T = typename F::Storage;
  using Pairs = exact::SumPair<typename F::Element>;
  exact::Pair sum = Pairs::Identity();
  const auto add = [&](T x) { AddElement<typename F::template Applied<Pairs>>(sum, Lift(x), 0); };
  if (count == kTileElements<T> && reinterpret_cast<std::uintptr_t>(tile) % kVectorBytes == 0) {
#pragma unroll 2
    for (int r = 0; r < kTileRows; ++r) {
      const uint4 raw = LoadVector(tile + r * kRowElements<T> + lane * kVectorElements<T>);
      T x[kVectorElements<T>];
      memcpy(x, &raw, sizeof(raw));
#pragma unroll
      for (const T element : x) add(element);
    }
  } else {
#pragma unroll 1
    for (int i = lane; i < count; i += kLanes) add(LoadElement(tile + i));
  }
  return FoldLanesByHalves<Pairs>(sum, kLanes);
}

// A warp's tile as a state, in all lanes, of NeededFold's components; `tile_pass` and `across` as
// for FoldTilePasses. A sum that float64 may have rounded is added up again in pairs: of data
// around zero few tiles are, and the sum of all stays exact. Not one that is a good part of the sum
// of absolute values, as where an element is far beyond the others: its error is small beside it.
template <class F, class NeededFold, class TilePass, class Across>
__device__ __forceinline__ typename F::State TileState(const typename F::Storage* tile, int count,
                                                       int lane, const TilePass& tile_pass,
                                                       const Across& across,
                                                       const ElementIndexing& indexing) {
  const auto acc = AccOf<F, NeededFold>(FoldTilePasses<NeededFold>(count, tile_pass, across));
  typename F::State state = F::Promote(acc, indexing, count);
  using Sum = exact::BoundedSum<typename F::Element>;
  if constexpr (exact::kIsBounded<F> && !exact::kSumsAreDoubleDouble<typename F::Element> &&
                !kIsLifted<typename F::Storage>) {
    auto& sum = F::template Get<Sum>(state);
    bool is_again = sum.error_top != 0 && exact::internal::IsFinite(sum.high);
    if constexpr (F::template kHas<AbsSum<typename F::Element>>) {
      is_again =
          is_again && std::fabs(sum.high) < F::template Get<AbsSum<typename F::Element>>(acc) / 4;
    }
    if (is_again) {
      sum = Sum::State::Of(AddTileInPairs<F>(tile, count, lane),
                           Sum::template ErrorOf<F, true>(acc, count), 0);
    }
  }
  return state;
}

// The same, loaded first. `count` may be 0 or less: the identity.
template <class F, Presence kPresence, bool kUnrolled>
__device__ __forceinline__ typename F::State TileStateOf(const typename F::Storage* tile, int count,
                                                         int lane,
                                                         const ElementIndexing& indexing) {
  using T = typename F::Storage;
  LaneVectors<T, kTileRows, kPresence, kUnrolled> mine;
  mine.first = lane * kVectorElements<T>;
  mine.count = count;
  mine.Load(tile);
  const auto tile_pass = [&](auto, const auto& identity, const auto& add, const auto& combine) {
    return mine.Fold(identity, add, combine);
  };
  return TileState<F, F>(tile, count > 0 ? count : 0, lane, tile_pass, AcrossLanes{kLanes},
                         indexing);
}
template <class F, bool kAligned>
__device__ __forceinline__ typename F::State FoldTile(const typename F::Storage* tile, int count,
                                                      int lane, const ElementIndexing& indexing) {
  using T = typename F::Storage;
  constexpr bool kUnrolled = !kHasManyAccumulators<F>;
  if constexpr (!kAligned) {
    return TileStateOf<F, Presence::kAny, kUnrolled>(tile, count, lane, indexing);
  } else {
    if (count == kTileElements<T>) {
      return TileStateOf<F, Presence::kAll, true>(tile, count, lane, indexing);
    }
    if (count % kVectorElements<T> == 0) {
      return TileStateOf<F, Presence::kVectors, kUnrolled>(tile, count, lane, indexing);
    }
    // At the end of the tensor.
    return TileStateOf<F, Presence::kAny, false>(tile, count, lane, indexing);
  }
}

// What a block of `tiles` tiles folds: rows from `first_row` on, part `part` of each.
struct RowBlock {
  std::int64_t first_row;
  unsigned part;
};
__device__ __forceinline__ RowBlock RowBlockOf(std::int64_t rows, const RowLaunch& launch,
                                               int tiles) {
  // A grid has fewer than 2^31 blocks, and a division of 64 bits would take a block of one tile a
  // tenth of its life.
  const unsigned blocks_per_row = static_cast<unsigned>(launch.blocks_per_row);
  const unsigned row_block = rows == 1 ? 0 : blockIdx.x / blocks_per_row;
  return {std::int64_t{row_block} * (tiles >> launch.tiles_per_row_log2),
          blockIdx.x - row_block * blocks_per_row};
}

// Block: kWarps warps. kAligned: every row starts on 16 bytes.
//
// The bound of 1,024 threads an SM gives the compiler 64 registers a thread, so that all eight
// loads of a tile are in flight at once; without it ptxas chose 32 for f32 sums and put the loads
// in halves: 63.4 instead of 60.2 us for 256 MiB (H200, 2026-11-21). Folds of many components need
// more registers than that.
template <class F, int kWarps, bool kAligned>
__global__ void __launch_bounds__(kWarps * 32, (kHasManyAccumulators<F> ? 16 : 32) / kWarps)
    RowKernel(const typename F::Storage* __restrict__ data, std::int64_t first_element,
              std::int64_t rows, std::int64_t row_elements, RowLaunch launch,
              const __grid_constant__ Epilogue<F> epilogue) {
  using T = typename F::Storage;
  BeginPass();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const RowBlock block = RowBlockOf(rows, launch, kWarps);
  const int warps_per_row = 1 << launch.tiles_per_row_log2;
  const std::int64_t row = block.first_row + (warp >> launch.tiles_per_row_log2);
  const std::int64_t tile = std::int64_t{block.part} * kWarps + (warp & (warps_per_row - 1));

  const std::int64_t first = tile * kTileElements<T>;
  const std::int64_t left = row < rows ? row_elements - first : 0;
  const int count = static_cast<int>(left < kTileElements<T> ? left : kTileElements<T>);
  const std::int64_t offset = row * row_elements + first;
  const typename F::State state =
      FoldTile<F, kAligned>(data + offset, count, lane, {.first = first_element + offset});

  if (warps_per_row == 1) {
    if (lane == 0 && row < rows) epilogue.Put(block.part, row, state);
    return;
  }
  __shared__ typename F::State tiles[kWarps];
  if (lane == 0) tiles[warp] = state;
  __syncthreads();
  if (warp != 0) return;
  const typename F::State folded = FoldLanesByNeighbours<F>(tiles[lane % kWarps], 1, warps_per_row);
  const std::int64_t my_row = block.first_row + (lane >> launch.tiles_per_row_log2);
  if (lane < kWarps && (lane & (warps_per_row - 1)) == 0 && my_row < rows) {
    epilogue.Put(block.part, my_row, folded);
  }
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_ROW_KERNELS_CUH_
