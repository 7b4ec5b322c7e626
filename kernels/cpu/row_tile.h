// One row tile to one state: a fusion's components each by the loops that suit it.
#ifndef WARPFOLD_KERNELS_CPU_ROW_TILE_H_
#define WARPFOLD_KERNELS_CPU_ROW_TILE_H_

#include <cstdint>
#include <optional>
#include <type_traits>

#include "kernels/cpu/extremes.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/fold.h"

namespace warpfold::cpu {

template <class F>
class RowTile {
  using T = typename F::Element;
  using State = typename F::State;

 public:
  // The best key of the tiles before a tile: only in one that beats it is there an index to look
  // for, and of random elements that is rare.
  struct Leader {
    bool is_read = true;  // somebody asks for the index
    std::optional<OrderedKey<T>> key = {};
  };
  struct Leaders {
    Leader least;
    Leader greatest;
  };

  // The `count` elements of a tile, 1 to kTileElements<T>, the first of which is at linear offset
  // `first`. The tiles of one `leaders` come from front to back.
  static State Fold(const T* tile, int count, std::int64_t first, Leaders& leaders) {
    typename F::Acc acc;
    if constexpr (kHasLeast || kHasGreatest) {
      FoldExtremes(tile, count, leaders, acc);
    }
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (F::template kIsSkippedCount<C>) {
        F::template Get<C>(acc) = C::Identity();
      } else if constexpr (!kIsExtreme<C>) {
        F::template Get<C>(acc) = LoopOf<C>()(tile, count);
      }
    });
    if constexpr (F::kSkipsCounts) {
      if (!F::AllFinite(acc)) {
        F::ForEach([&](auto tag) {
          using C = typename decltype(tag)::type;
          if constexpr (F::template kIsSkippedCount<C>) {
            F::template Get<C>(acc) = LoopOf<C>()(tile, count);
          }
        });
      }
    }
    return F::Promote(acc, {.first = first});
  }

 private:
  template <class C>
  static auto* LoopOf() {
    const TileLoop<T, typename F::template Applied<C>>& loop = GetTileLoops();
    return loop.fold;
  }

  template <class C>
  static constexpr bool kIsExtreme = kJoinOf<C> == Join::kMin || kJoinOf<C> == Join::kMax;
  static constexpr bool kHasLeast = F::template kHas<Min<T>> || F::template kHas<ArgMin<T>>;
  static constexpr bool kHasGreatest = F::template kHas<Max<T>> || F::template kHas<ArgMax<T>>;
  static void FoldExtremes(const T* tile, int count, Leaders& leaders, typename F::Acc& acc) {
    const ExtremeLoops<T, F::kOmitsNan>& loops = GetExtremeLoops();
    Extremes<T> keys{};
    if constexpr (kHasLeast && kHasGreatest) {
      keys = loops.both(tile, count);
    } else if constexpr (kHasLeast) {
      keys.least = loops.least(tile, count);
    } else if constexpr (kHasGreatest) {
      keys.greatest = loops.greatest(tile, count);
    }
    if constexpr (F::template kHas<Min<T>>) F::template Get<Min<T>>(acc) = keys.least;
    if constexpr (F::template kHas<Max<T>>) F::template Get<Max<T>>(acc) = keys.greatest;
    if constexpr (F::template kHas<ArgMin<T>>) {
      F::template Get<ArgMin<T>>(acc) =
          WithIndex<ArgMin<T>>(tile, count, keys.least, leaders.least);
    }
    if constexpr (F::template kHas<ArgMax<T>>) {
      F::template Get<ArgMax<T>>(acc) =
          WithIndex<ArgMax<T>>(tile, count, keys.greatest, leaders.greatest);
    }
  }

  // The tile's best element, whose key is `key`, and where it is; the identity if it is none, does
  // not beat the `leader` or is not read.
  template <class C>
  static typename C::Acc WithIndex(const T* tile, int count, OrderedKey<T> key, Leader& leader) {
    const bool is_none = F::kOmitsNan && key == C::Value::Identity();
    const bool is_beaten =
        leader.key.has_value() && C::Value::Combine(*leader.key, key) == *leader.key;
    if (is_none || is_beaten || !leader.is_read) return C::Identity();
    leader.key = key;
    const ExtremeLoops<T, F::kOmitsNan>& loops = GetExtremeLoops();
    return C::At(FromKey<T>(key), loops.index_of(tile, count, key));
  }
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_ROW_TILE_H_
