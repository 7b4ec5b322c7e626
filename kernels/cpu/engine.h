// The CPU folds for one fusion of components: tasks, trees and the scalar paths around the SIMD
// loops.
#ifndef WARPFOLD_KERNELS_CPU_ENGINE_H_
#define WARPFOLD_KERNELS_CPU_ENGINE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/canonical.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/simd.h"
#include "kernels/cpu/whole_tiles.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/fold.h"

namespace warpfold::cpu {

template <class F>
class EngineOf {
 public:
  using T = typename F::Element;
  using State = typename F::State;

  static void FoldElements(const T* data, const Extent& extent, const Output& output,
                           ParallelFor parallel_for) {
    if (extent.inner > 1) {
      FoldColumns(data, extent, output, parallel_for);
    } else if (extent.count * static_cast<std::int64_t>(sizeof(T)) <= kTaskBytes) {
      FoldWholeRows(data, extent, output, parallel_for);
    } else {
      FoldLongRows(data, extent, output, parallel_for);
    }
  }

  static void FoldStates(const State* states, const Extent& extent, const Output& output,
                         ParallelFor parallel_for) {
    constexpr std::int64_t kOutputsPerTask = 1024;
    parallel_for(CeilDiv(extent.outputs(), kOutputsPerTask), [&](std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * kOutputsPerTask, extent.outputs());
      for (std::int64_t i = task * kOutputsPerTask; i < end; ++i) {
        const std::int64_t plane = i / extent.inner;
        const State* first = states + plane * extent.count * extent.inner + i % extent.inner;
        Emit(output, i,
             Tree(0, extent.count, [&](std::int64_t k) { return first[k * extent.inner]; }));
      }
    });
  }

  static void PushStates(const State* states, std::int64_t width, std::int64_t index,
                         State* stack) {
    for (std::int64_t c = 0; c < width; ++c) PushColumn(states[c], c, width, index, stack);
  }

  static void DrainStack(const State* stack, std::int64_t width, std::int64_t count,
                         const Output& output) {
    for (std::int64_t c = 0; c < width; ++c) {
      State state = F::IdentityState();
      for (int level = 0; (count >> level) != 0; ++level) {
        if ((count >> level) & 1) state = F::Combine(stack[level * width + c], state);
      }
      Emit(output, c, state);
    }
  }

 private:
  // A task's share of the data: large against the cost of handing it out, small against a core's
  // L2.
  static constexpr std::int64_t kTaskBytes = 256 << 10;
  static constexpr std::int64_t kTaskTiles = kTaskBytes / static_cast<std::int64_t>(kTileBytes);

  // The binary tree over [first, first + count): its left part is the largest power of two that
  // leaves a right part.
  template <typename Leaf>
  static State Tree(std::int64_t first, std::int64_t count, const Leaf& leaf) {
    if (count == 1) return leaf(first);
    const std::int64_t left = PowerOfTwoAtLeast(count) / 2;
    const State left_state = Tree(first, left, leaf);
    return F::Combine(left_state, Tree(first + left, count - left, leaf));
  }

  static void PushColumn(State state, std::int64_t column, std::int64_t width, std::int64_t index,
                         State* stack) {
    int level = 0;
    for (; (index >> level) & 1; ++level) {
      state = F::Combine(stack[level * width + column], state);
    }
    stack[level * width + column] = state;
  }

  // Not for interprocedural analysis: GCC 12 found that some instances write nothing, and dropped
  // the calls (minima of f32, f64 and bf16 along columns, at -O3).
#if defined(__GNUC__) && !defined(__clang__)
  __attribute__((noipa))
#endif
  static void
  Emit(const Output& output, std::int64_t index, const State& state) {
    if (output.states != nullptr) {
      static_cast<State*>(output.states)[index] = state;
      return;
    }
    Misfit misfit;
    if (!WriteResults<F>(output.targets, output.first_result + index, state, &misfit)) {
      ReportOverflow(output.overflow, output.first_result + index, misfit);
    }
  }

  static void ReportOverflow(Overflow* report, std::int64_t index, const Misfit& misfit) {
    std::atomic_ref<std::int32_t> lock(report->lock);
    while (lock.exchange(1, std::memory_order_acquire) != 0) {
    }
    if (index < report->output_index) {
      report->output_index = index;
      report->op = misfit.op;
      report->high = static_cast<std::int64_t>(misfit.sum >> 64);
      report->low = static_cast<std::uint64_t>(misfit.sum);
    }
    lock.store(0, std::memory_order_release);
  }

  template <class C>
  using Loops = SimdLoops<T, typename F::template Applied<C>>;
  template <class C>
  static const Loops<C>& LoopsOf() {
    return GetSimdLoops<T, typename F::template Applied<C>>();
  }

  // Sums of floats that are read together: all of the bundle's.
  static constexpr bool kHasFloatSums = kIsFloat<T> && F::template kHas<Sum<T>>;
  static constexpr bool kHasThreeSums = kHasFloatSums && F::template kHas<SquareSum<T>>;
  template <class C>
  static constexpr bool kIsFloatSum = kIsFloat<T> &&
                                      (std::is_same_v<C, Sum<T>> || std::is_same_v<C, AbsSum<T>> ||
                                       std::is_same_v<C, SquareSum<T>>);
  // Null where the tile is not whole or the processor has no loops for it.
  static const auto* WholeTileLoopsFor(int count) {
    const auto* loops = GetWholeTileLoops<T, F::kOmitsNan>();
    return count == kTileElements<T> ? loops : nullptr;
  }

  // The tile's first element is at linear offset `first`; so below.
  static State FoldTile(const T* tile, int count, std::int64_t first) {
    typename F::Acc acc;
    if constexpr (kHasFloatSums) {
      FoldFloatSums(tile, count, acc);
    }
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (F::template kIsSparedCount<C>) {
        F::template Get<C>(acc) = C::Identity();
      } else if constexpr (!kIsFloatSum<C> && !kReadsTwice<C>) {
        F::template Get<C>(acc) = LoopsOf<C>().fold_tile(tile, count);
      }
    });
    if constexpr (F::kSparesCounts) {
      if (!F::AllFinite(acc)) {
        F::ForEach([&](auto tag) {
          using C = typename decltype(tag)::type;
          if constexpr (F::template kIsSparedCount<C>) {
            F::template Get<C>(acc) = LoopsOf<C>().fold_tile(tile, count);
          }
        });
      }
    }
    if constexpr (F::kHasMoments) {
      const double mean = F::Mean(acc, count);
      F::SetMoments(acc, count, mean, FoldDeviations(tile, count, mean));
    }
    return F::Promote(acc, {.first = first});
  }

  static void FoldFloatSums(const T* tile, int count, typename F::Acc& acc) {
    const auto* whole = WholeTileLoopsFor(count);
    if (whole == nullptr) {
      F::ForEach([&](auto tag) {
        using C = typename decltype(tag)::type;
        if constexpr (kIsFloatSum<C>) {
          F::template Get<C>(acc) = LoopsOf<C>().fold_tile(tile, count);
        }
      });
    } else if constexpr (kHasThreeSums) {
      const FloatSums sums = whole->sums(tile);
      F::template Get<Sum<T>>(acc) = sums.sum;
      F::template Get<AbsSum<T>>(acc) = sums.abs_sum;
      F::template Get<SquareSum<T>>(acc) = sums.square_sum;
    } else {
      F::template Get<Sum<T>>(acc) = whole->sum(tile);
    }
  }

  static double FoldDeviations(const T* tile, int count, double mean) {
    if constexpr (kIsFloat<T>) {
      if (const auto* whole = WholeTileLoopsFor(count)) return whole->deviations(tile, mean);
    }
    return LoopsOf<Moments<T>>().fold_tile(tile, count, mean);
  }

  static State FoldTiles(const T* row, std::int64_t row_elements, std::int64_t first_tile,
                         std::int64_t count, std::int64_t first) {
    return Tree(first_tile, count, [&](std::int64_t tile) {
      const std::int64_t begin = tile * kTileElements<T>;
      const std::int64_t left = row_elements - begin;
      return FoldTile(row + begin, static_cast<int>(std::min<std::int64_t>(kTileElements<T>, left)),
                      first + begin);
    });
  }

  // A row of one vector for each of a few lanes: what fold_tile computes, without its fixed cost.
  static State FoldShortRow(const T* row, int count, std::int64_t first) {
    constexpr int kVector = kVectorElements<T>;
    const int lanes = static_cast<int>(PowerOfTwoAtLeast(CeilDiv(count, kVector)));
    // acc[lanes * kVector] to acc[0], as in a tile.
    const auto fold = [&](auto* acc, const auto& combine) {
      for (int width = lanes * kVector / 2; width >= lanes; width /= 2) {
        for (int i = 0; i < width; ++i) acc[i] = combine(acc[2 * i], acc[2 * i + 1]);
      }
      for (int half = lanes / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) acc[i] = combine(acc[i], acc[i + half]);
      }
    };
    typename F::Acc acc[kRowElements<T>];
    for (int i = 0; i < lanes * kVector; ++i) {
      acc[i] = F::Identity();
      if (i < count) F::Add(acc[i], row[i], i);
    }
    fold(acc, [](const auto& a, const auto& b) { return F::Combine(a, b); });
    if constexpr (F::kHasMoments) {
      const double mean = F::Mean(acc[0], count);
      double squares[kRowElements<T>] = {};
      for (int i = 0; i < count; ++i) F::AddDeviation(squares[i], row[i], mean);
      fold(squares, [](double a, double b) { return a + b; });
      F::SetMoments(acc[0], count, mean, squares[0]);
    }
    return F::Promote(acc[0], {.first = first});
  }

  static void FoldWholeRows(const T* data, const Extent& extent, const Output& output,
                            ParallelFor parallel_for) {
    const std::int64_t row_bytes = extent.count * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTaskBytes / row_bytes);
    const bool is_short = extent.count <= kRowElements<T> / 4;
    parallel_for(CeilDiv(extent.outer, rows_per_task), [&](std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * rows_per_task, extent.outer);
      for (std::int64_t row = task * rows_per_task; row < end; ++row) {
        const T* elements = data + row * extent.count;
        const std::int64_t first = extent.first + row * extent.count;
        Emit(output, row,
             is_short ? FoldShortRow(elements, static_cast<int>(extent.count), first)
                      : FoldTiles(elements, extent.count, 0,
                                  CeilDiv(extent.count, kTileElements<T>), first));
      }
    });
  }

  static void FoldLongRows(const T* data, const Extent& extent, const Output& output,
                           ParallelFor parallel_for) {
    const std::int64_t tiles = CeilDiv(extent.count, kTileElements<T>);
    const std::int64_t parts = CeilDiv(tiles, kTaskTiles);
    std::vector<State> partials(static_cast<std::size_t>(extent.outer * parts));
    parallel_for(extent.outer * parts, [&](std::int64_t task) {
      const std::int64_t row = task / parts;
      const std::int64_t first_tile = task % parts * kTaskTiles;
      partials[static_cast<std::size_t>(task)] =
          FoldTiles(data + row * extent.count, extent.count, first_tile,
                    std::min(kTaskTiles, tiles - first_tile), extent.first + row * extent.count);
    });
    FoldStates(partials.data(), {extent.outer, parts, 1}, output, parallel_for);
  }

  // How the columns of [outer, count, inner] are cut into tasks: blocks of columns, parts of whole
  // leaves.
  struct ColumnTasks {
    std::int64_t columns;  // of a block
    std::int64_t blocks_per_plane;
    std::int64_t leaves;  // of a part, a power of two
    std::int64_t parts;

    explicit ColumnTasks(const Extent& extent) {
      constexpr std::int64_t kMaxColumns = 512;
      constexpr std::int64_t kLeavesMax = kAccElementsMax / kLeafRows;
      columns = std::min(extent.inner, kMaxColumns);
      blocks_per_plane = CeilDiv(extent.inner, columns);
      const std::int64_t leaf_bytes = kLeafRows * columns * static_cast<std::int64_t>(sizeof(T));
      leaves = PowerOfTwoAtLeast(std::clamp<std::int64_t>(kTaskBytes / leaf_bytes, 1, kLeavesMax));
      parts = CeilDiv(CeilDiv(extent.count, kLeafRows), leaves);
    }
  };

  static void FoldColumns(const T* data, const Extent& extent, const Output& output,
                          ParallelFor parallel_for) {
    const ColumnTasks tasks(extent);
    std::vector<State> partials(
        static_cast<std::size_t>(tasks.parts > 1 ? tasks.parts * extent.outputs() : 0));
    const std::int64_t blocks = extent.outer * tasks.blocks_per_plane;
    parallel_for(blocks * tasks.parts, [&](std::int64_t task) {
      const std::int64_t part = task / blocks;
      const std::int64_t plane = task % blocks / tasks.blocks_per_plane;
      const std::int64_t first_column = task % tasks.blocks_per_plane * tasks.columns;
      const std::int64_t columns = std::min(tasks.columns, extent.inner - first_column);
      const std::int64_t first_row = part * tasks.leaves * kLeafRows;
      const std::int64_t rows = std::min(tasks.leaves * kLeafRows, extent.count - first_row);
      std::vector<State> states(static_cast<std::size_t>(columns));
      const std::int64_t first = (plane * extent.count + first_row) * extent.inner + first_column;
      FoldColumnBlock(data + first, {extent.first + first, extent.inner}, rows, columns,
                      states.data());
      const std::int64_t first_output = plane * extent.inner + first_column;
      for (std::int64_t c = 0; c < columns; ++c) {
        const State& state = states[static_cast<std::size_t>(c)];
        if (tasks.parts > 1) {
          partials[static_cast<std::size_t>(part * extent.outputs() + first_output + c)] = state;
        } else {
          Emit(output, first_output + c, state);
        }
      }
    });
    if (tasks.parts > 1) {
      FoldStates(partials.data(), {1, tasks.parts, extent.outputs()}, output, parallel_for);
    }
  }

  // `rows` rows of `columns` columns, place.step apart, to one state a column. A component at a
  // time: the block stays in L2. The first column is at `place`.
  static void FoldColumnBlock(const T* data, const Place& place, std::int64_t rows,
                              std::int64_t columns, State* states) {
    const std::int64_t leaves = CeilDiv(rows, kLeafRows);
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      using Acc = typename C::Acc;
      const Loops<C>& loops = LoopsOf<C>();
      // Levels of the tree's stack, and the leaf on its way in.
      std::vector<Acc> stack(static_cast<std::size_t>((StackLevels(leaves) + 1) * columns));
      Acc* top = stack.data() + StackLevels(leaves) * columns;
      for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
        const std::int64_t row = leaf * kLeafRows;
        loops.fold_leaf(data, place.step, static_cast<int>(row),
                        static_cast<int>(std::min<std::int64_t>(kLeafRows, rows - row)), columns,
                        top);
        int level = 0;
        for (; (leaf >> level) & 1; ++level) {
          loops.combine(stack.data() + level * columns, top, columns);
        }
        std::copy(top, top + columns, stack.data() + level * columns);
      }
      std::fill(top, top + columns, C::Identity());
      for (int level = 0; (leaves >> level) != 0; ++level) {
        if ((leaves >> level) & 1) loops.combine(stack.data() + level * columns, top, columns);
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        F::template Get<C>(states[c]) =
            PromoteAt<C>(top[c], {.first = place.first + c, .step = place.step});
      }
    });
  }
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_ENGINE_H_
