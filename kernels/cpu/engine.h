// The CPU folds for one fusion of components: tasks, and the trees over their tiles and leaves.
#ifndef WARPFOLD_KERNELS_CPU_ENGINE_H_
#define WARPFOLD_KERNELS_CPU_ENGINE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/canonical.h"
#include "kernels/cpu/column_loops.h"
#include "kernels/cpu/emit.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/row_tile.h"
#include "kernels/cpu/tree_rows.h"
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
    constexpr std::int64_t kTaskStateBytes = 16 << 10;  // of a row, of which a tree keeps a few
    constexpr std::int64_t kOutputsPerTask =
        kTaskStateBytes / static_cast<std::int64_t>(sizeof(State));
    parallel_for(CeilDiv(extent.outputs(), kOutputsPerTask), [&](std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * kOutputsPerTask, extent.outputs());
      const TreeRows<State> rows(extent.count, std::min(kOutputsPerTask, extent.inner));
      std::int64_t columns;
      for (std::int64_t i = task * kOutputsPerTask; i < end; i += columns) {
        const std::int64_t plane = i / extent.inner;
        const std::int64_t column = i % extent.inner;
        columns = std::min(end - i, extent.inner - column);
        const State* first = states + plane * extent.count * extent.inner + column;
        const auto copy = [&](std::int64_t k, State* row) {
          std::copy_n(first + k * extent.inner, columns, row);
        };
        const auto combine = [&](const State* left, State* right) {
          for (std::int64_t c = 0; c < columns; ++c) right[c] = F::Combine(left[c], right[c]);
        };
        EmitRun(output, i, rows.Fold(copy, combine), columns);
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
  static constexpr bool kIsOfOne = F::kComponents == 1;
  // A task's share of the data: large against the cost of handing it out, small against a core's
  // L2.
  static constexpr std::int64_t kTaskBytes = 256 << 10;
  static constexpr std::int64_t kTaskTiles = kTaskBytes / static_cast<std::int64_t>(kTileBytes);
  // Rows of so many elements of 32 or 64 bits are sooner added than handed to loops: 8 f32 took 10
  // ns to sum, and 24 as a tile (one core of an EPYC, Zen 4, 2026-11-22).
  static constexpr std::int64_t kShortRow = 8;

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

  static void EmitRun(const Output& output, std::int64_t first, const State* states,
                      std::int64_t count) {
    cpu::EmitRun<FoldWriter<F>>(output, first, states, count);
  }
  static void Emit(const Output& output, std::int64_t index, const State& state) {
    EmitRun(output, index, &state, 1);
  }

  using Leaders = typename RowTile<F>::Leaders;

  // Before the first tile of anything that becomes `output`.
  static Leaders NoLeaders(const Output& output) {
    const Op* end = output.targets.ops + output.targets.count;
    const auto is_read = [&](Op op) {
      return output.states != nullptr || std::find(output.targets.ops, end, op) != end;
    };
    return {.least = {is_read(Op::kArgMin)}, .greatest = {is_read(Op::kArgMax)}};
  }

  static State FoldTiles(const T* row, std::int64_t row_elements, std::int64_t first_tile,
                         std::int64_t count, std::int64_t first, Leaders leaders) {
    return Tree(first_tile, count, [&](std::int64_t tile) {  // from the first to the last
      const std::int64_t begin = tile * kTileElements<T>;
      const std::int64_t left = row_elements - begin;
      return RowTile<F>::Fold(row + begin,
                              static_cast<int>(std::min<std::int64_t>(kTileElements<T>, left)),
                              first + begin, leaders);
    });
  }

  static void FoldWholeRows(const T* data, const Extent& extent, const Output& output,
                            ParallelFor parallel_for) {
    const std::int64_t row_bytes = extent.count * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTaskBytes / row_bytes);
    constexpr std::int64_t kRowsAtOnce = 16;
    const Leaders leaders = NoLeaders(output);
    const bool is_short = sizeof(T) >= 4 && extent.count <= kShortRow;
    parallel_for(CeilDiv(extent.outer, rows_per_task), [&](std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * rows_per_task, extent.outer);
      State states[kRowsAtOnce];
      for (std::int64_t row = task * rows_per_task; row < end; row += kRowsAtOnce) {
        const std::int64_t rows = std::min(kRowsAtOnce, end - row);
        for (std::int64_t i = 0; i < rows; ++i) {
          const T* elements = data + (row + i) * extent.count;
          const std::int64_t first = extent.first + (row + i) * extent.count;
          states[i] = is_short
                          ? RowTile<F>::FoldShort(elements, static_cast<int>(extent.count), first)
                          : FoldTiles(elements, extent.count, 0,
                                      CeilDiv(extent.count, kTileElements<T>), first, leaders);
        }
        EmitRun(output, row, states, rows);
      }
    });
  }

  static void FoldLongRows(const T* data, const Extent& extent, const Output& output,
                           ParallelFor parallel_for) {
    const std::int64_t tiles = CeilDiv(extent.count, kTileElements<T>);
    const std::int64_t parts = CeilDiv(tiles, kTaskTiles);
    std::vector<State> partials(static_cast<std::size_t>(extent.outer * parts));
    const Leaders leaders = NoLeaders(output);
    parallel_for(extent.outer * parts, [&](std::int64_t task) {
      const std::int64_t row = task / parts;
      const std::int64_t first_tile = task % parts * kTaskTiles;
      partials[static_cast<std::size_t>(task)] = FoldTiles(
          data + row * extent.count, extent.count, first_tile,
          std::min(kTaskTiles, tiles - first_tile), extent.first + row * extent.count, leaders);
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
      constexpr std::int64_t kElementBytes = sizeof(T);
      constexpr std::int64_t kLeavesMax = kAccElementsMax / kLeafRows;
      std::int64_t part_bytes = kTaskBytes;
      if constexpr (kIsOfOne) {
        // A block need not stay in L2 for another component: rows are read in long runs, and of
        // large tensors parts are larger, which leave fewer partials. f32 sums of 128 MiB in 1,024
        // columns took 5.2 ms in parts of 256 KiB, 4.8 of 1 MiB and 4.7 of 4 (one core of an EPYC,
        // Zen 4, 2026-11-24).
        constexpr std::int64_t kColumns = 2048;
        constexpr std::int64_t kTasks = 32;  // enough for all cores
        columns = std::min(extent.inner, kColumns);
        part_bytes = std::clamp(extent.outputs() * extent.count * kElementBytes / kTasks,
                                kTaskBytes, 4 * kTaskBytes);
      } else {
        // Few rows are read in longer runs.
        constexpr std::int64_t kColumns = 512;
        constexpr std::int64_t kColumnsMax = 4096;
        const std::int64_t column_bytes = extent.count * kElementBytes;
        columns =
            std::min(extent.inner, std::clamp(kTaskBytes / column_bytes, kColumns, kColumnsMax));
      }
      blocks_per_plane = CeilDiv(extent.inner, columns);
      const std::int64_t leaf_bytes = kLeafRows * columns * kElementBytes;
      leaves = PowerOfTwoAtLeast(std::clamp<std::int64_t>(part_bytes / leaf_bytes, 1, kLeavesMax));
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
      const auto states =
          std::make_unique_for_overwrite<State[]>(static_cast<std::size_t>(columns));
      const std::int64_t first = (plane * extent.count + first_row) * extent.inner + first_column;
      FoldColumnBlock(data + first, {extent.first + first, extent.inner}, rows, columns,
                      states.get());
      const std::int64_t first_output = plane * extent.inner + first_column;
      if (tasks.parts > 1) {
        std::copy_n(states.get(), columns,
                    partials.begin() + part * extent.outputs() + first_output);
      } else {
        EmitRun(output, first_output, states.get(), columns);
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
    F::ForEach([&](auto tag) {
      using C = typename decltype(tag)::type;
      if constexpr (!F::template kIsSparedCount<C>) {
        FoldColumnsOf<C>(data, place, rows, columns, states);
      }
    });
    if constexpr (F::kSparesCounts) {
      const bool all_finite = std::all_of(states, states + columns,
                                          [](const State& state) { return F::AllFinite(state); });
      F::ForEach([&](auto tag) {
        using C = typename decltype(tag)::type;
        if constexpr (F::template kIsSparedCount<C>) {
          if (all_finite) {
            for (std::int64_t c = 0; c < columns; ++c) F::template Get<C>(states[c]) = 0;
          } else {
            FoldColumnsOf<C>(data, place, rows, columns, states);
          }
        }
      });
    }
  }

  // The same of one component.
  template <class C>
  static void FoldColumnsOf(const T* data, const Place& place, std::int64_t rows,
                            std::int64_t columns, State* states) {
    using Acc = typename C::Acc;
    const std::int64_t leaves = CeilDiv(rows, kLeafRows);
    const auto& loops = GetColumnLoops<T, typename F::template Applied<C>>();
    auto* fold_leaf = loops.fold_leaf;
    if constexpr (kIsFloat<T> && std::is_same_v<C, Sum<T>>) {
      const auto* in_float64 = GetFloat64Loops<T, F::kOmitsNan>();
      if (in_float64 != nullptr) fold_leaf = in_float64->sum_columns;
    }
    const TreeRows<Acc> tree(leaves, columns);
    const Acc* top = tree.Fold(
        [&](std::int64_t leaf, Acc* out) {
          const std::int64_t row = leaf * kLeafRows;
          fold_leaf(data, place.step, static_cast<int>(row),
                    static_cast<int>(std::min<std::int64_t>(kLeafRows, rows - row)), columns, out);
        },
        [&](const Acc* left, Acc* right) { loops.combine(left, right, columns); });
    if constexpr (kIsOfOne && std::is_same_v<Acc, typename C::State>) {
      static_assert(sizeof(State) == sizeof(Acc));
      std::memcpy(states, top, static_cast<std::size_t>(columns) * sizeof(State));
    } else {
      for (std::int64_t c = 0; c < columns; ++c) {
        F::template Get<C>(states[c]) =
            PromoteAt<C>(top[c], {.first = place.first + c, .step = place.step});
      }
    }
  }
};

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_ENGINE_H_
