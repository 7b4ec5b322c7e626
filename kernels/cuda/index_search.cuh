// Where the extrema of rows are, of blocks whose warps take a row's tiles one after another
// (pipelined_rows.cuh). A tile's best element is known before its index: to find that is a further
// pass, which only a tile that may hold its row's extremum is worth.
//
// Folds with few accumulators look in each tile that is the best so far, while it is at hand. Those
// with many, whose time is instructions and not memory, look when the rows have been folded, in the
// one tile that holds the extremum, and read it again: of 256 MiB of f32 all sixteen ops took 87.5
// us so and 90.4 the other way, but ARGMIN 68.2 and 65.3 (H200, 2026-11-23).
#ifndef WARPFOLD_KERNELS_CUDA_INDEX_SEARCH_CUH_
#define WARPFOLD_KERNELS_CUDA_INDEX_SEARCH_CUH_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/row_kernels.cuh"
#include "kernels/cuda/tile_passes.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// A tile of a block.
template <typename T>
struct BlockTile {
  std::int64_t offset;  // of its first element
  int count;            // 0 or less: it is past the end
  __device__ bool IsWhole() const { return count == kTileElements<T>; }
};

// What a block shares to find indices; all its threads call each function but Across. Of folds
// without indices there are none to find.
template <class F>
struct NoIndexSearch {
  using T = typename F::Storage;
  struct OfWarp {};  // what a warp keeps in registers, from one tile to the next

  // Before the first tile.
  __device__ void Begin(const Epilogue<F>& /*epilogue*/) {}
  // A warp's lanes with tile `index` of the block, for FoldTilePasses.
  __device__ AcrossLanes Across(int /*index*/, const RowLaunch& /*launch*/,
                                const Epilogue<F>& /*epilogue*/, OfWarp& /*of_warp*/) {
    return {kLanes};
  }
  // When `states` are those of all tiles: puts in the indices that have not been looked for.
  __device__ void Finish(const T* /*data*/, const BlockTile<T>* /*tiles*/,
                         const RowLaunch& /*launch*/, const Epilogue<F>& /*epilogue*/,
                         typename F::State* /*states*/) {}
};

// The best key among some tiles of a row, for each indexed component.
template <typename T>
struct BestKeys {
  using Key = std::conditional_t<kKeyBits<T> == 64, long long, int>;
  static constexpr Key kNone = std::numeric_limits<Key>::max();
  static constexpr Key kUnbeatable = std::numeric_limits<Key>::min();
  Key arg_min = kNone;
  Key arg_max = kNone;

  template <class C>
  __device__ Key& Of() {
    if constexpr (std::is_same_v<C, ArgMin<T>>) {
      return arg_min;
    } else {
      return arg_max;
    }
  }
  // Of what other warps may be writing.
  template <class C>
  __device__ Key Now() {
    return const_cast<volatile Key&>(Of<C>());
  }
};

// For few accumulators.
template <class F>
struct EagerIndexSearch : NoIndexSearch<F> {
  using T = typename F::Element;
  using OfWarp = BestKeys<T>;

  // Warps take a row's tiles in turns, and what an earlier turn has found lies before this tile.
  struct AcrossTile : AcrossLanes {
    BestKeys<T>& of_turn;       // shared
    BestKeys<T>* of_last_turn;  // the same of the turn before; null in a row's first
    BestKeys<T>& of_earlier;    // the same in all lanes: of all turns before

    template <class C>
    __device__ bool Seeks(T best, bool has_best) const {
      using Key = typename BestKeys<T>::Key;
      Key mine;
      if constexpr (C::kIsPacked) {
        mine = static_cast<Key>(C::At(best, 0) >> C::kNumberBits);
      } else {
        mine = C::At(best, 0).key;
      }
      Key& earlier = of_earlier.template Of<C>();
      if (of_last_turn == nullptr) {
        earlier = BestKeys<T>::kNone;
      } else {
        earlier = min(earlier, of_last_turn->template Now<C>());
        // Of equals the first counts.
        if (!Any(mine < earlier)) return false;
      }
      if (!has_best || !Any(mine <= of_turn.template Now<C>())) return false;
      if (threadIdx.x % kLanes == 0) atomicMin(&of_turn.template Of<C>(), mine);
      return true;
    }
  };

  __device__ void Begin(const Epilogue<F>& epilogue) {
    if (threadIdx.x < kLanes) {
      // What nobody reads is never found: its index is not searched.
      BestKeys<T>& best = best_of_turns[threadIdx.x];
      best = BestKeys<T>{};
      if (!epilogue.reads_arg_min) best.arg_min = BestKeys<T>::kUnbeatable;
      if (!epilogue.reads_arg_max) best.arg_max = BestKeys<T>::kUnbeatable;
    }
    __syncthreads();
  }
  __device__ AcrossTile Across(int index, const RowLaunch& launch, const Epilogue<F>& /*epilogue*/,
                               OfWarp& of_warp) {
    // A turn is kPipelineWarps neighbouring tiles, or the row's where those are fewer.
    const int turn_log2 = min(launch.tiles_per_row_log2, kPipelineWarpsLog2);
    BestKeys<T>* const best = best_of_turns + (index >> turn_log2);
    const int index_in_row = index & ((1 << launch.tiles_per_row_log2) - 1);
    return {{kLanes}, *best, index_in_row < kPipelineWarps ? nullptr : best - 1, of_warp};
  }

  BestKeys<T> best_of_turns[kLanes];  // a row's turns, then the next row's
};

// For many accumulators. Until Finish a tile's state says that its extremum is its first element.
// Where a warp has one tile of a row at most, each tile is searched at once.
template <class F>
struct DeferredIndexSearch : NoIndexSearch<F> {
  using T = typename F::Element;
  using Stored = typename F::Storage;
  using OfWarp = typename NoIndexSearch<F>::OfWarp;

  struct AcrossTile : AcrossLanes {
    const Epilogue<F>& epilogue;
    bool at_once;

    template <class C>
    __device__ bool Seeks(T /*best*/, bool /*has_best*/) const {
      return at_once &&
             (std::is_same_v<C, ArgMin<T>> ? epilogue.reads_arg_min : epilogue.reads_arg_max);
    }
  };

  __device__ AcrossTile Across(int /*index*/, const RowLaunch& launch, const Epilogue<F>& epilogue,
                               OfWarp& /*of_warp*/) {
    return {{kLanes}, epilogue, IsAtOnce(launch)};
  }

  __device__ void Finish(const Stored* data, const BlockTile<Stored>* tiles,
                         const RowLaunch& launch, const Epilogue<F>& epilogue,
                         typename F::State* states) {
    if (IsAtOnce(launch)) return;
    using Best = ArgMin<T>;  // or ArgMax: of either, less is better
    const int warp = threadIdx.x / kLanes;
    const int lane = threadIdx.x % kLanes;
    const int tiles_per_row = 1 << launch.tiles_per_row_log2;
    const int extrema = 2 * (launch.tiles >> launch.tiles_per_row_log2);
#pragma unroll 1
    for (int i = warp; i < extrema; i += kPipelineWarps) {
      const bool is_min = i % 2 == 0;
      if (!(is_min ? epilogue.reads_arg_min : epilogue.reads_arg_max)) continue;
      const int first = (i / 2) << launch.tiles_per_row_log2;
      typename F::State& mine = states[first + (lane & (tiles_per_row - 1))];
      auto& smallest = F::template Get<ArgMin<T>>(mine);
      auto& largest = F::template Get<ArgMax<T>>(mine);
      const typename Best::State of_mine{is_min ? smallest.key : largest.key,
                                         is_min ? smallest.index : largest.index};
      const typename Best::State best = FoldLanesByNeighbours<Best>(of_mine, 1, tiles_per_row);
      const bool is_best = of_mine.index == best.index;
      const BlockTile<Stored> tile = tiles[first + __ffs(__ballot_sync(kFullWarp, is_best)) - 1];
      // A tile that is not whole has been searched.
      if (best.index == Best::kNone || !tile.IsWhole()) continue;
      const T x = is_min ? ArgMin<T>::ElementOf(best.key) : ArgMax<T>::ElementOf(best.key);
      const std::int32_t number = SeekInTile(x, data + tile.offset, lane);
      if (is_best && lane < tiles_per_row) (is_min ? smallest.index : largest.index) += number;
    }
    __syncthreads();
  }

 private:
  __device__ static bool IsAtOnce(const RowLaunch& launch) {
    return launch.tiles_per_row_log2 <= kPipelineWarpsLog2;
  }
  // The number of the first element of a whole tile that is `best`.
  __device__ static std::int32_t SeekInTile(T best, const Stored* tile, int lane) {
    LaneVectors<Stored, kTileRows, Presence::kAll, true> mine;
    mine.first = lane * kVectorElements<Stored>;
    mine.count = kTileElements<Stored>;
    mine.Load(tile);
    const auto tile_pass = [&](auto, const auto& identity, const auto& add, const auto& combine) {
      return mine.Fold(identity, add, combine);
    };
    return AcrossLanes{kLanes}.template Fold<Number>(Locate<F>(best, tile_pass));
  }
};

template <class F>
using IndexSearch = std::conditional_t<
    !kHasIndices<F>, NoIndexSearch<F>,
    std::conditional_t<kHasManyAccumulators<F>, DeferredIndexSearch<F>, EagerIndexSearch<F>>>;

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_INDEX_SEARCH_CUH_
