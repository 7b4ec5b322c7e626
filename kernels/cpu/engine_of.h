// The Engine of one fusion: tasks, whose states join in any order.
#ifndef WARPFOLD_KERNELS_CPU_ENGINE_OF_H_
#define WARPFOLD_KERNELS_CPU_ENGINE_OF_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/emit.h"
#include "kernels/cpu/exact_columns.h"
#include "kernels/cpu/exact_run.h"
#include "kernels/cpu/exact_writer.h"
#include "kernels/cpu/lift.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/short_outputs.h"
#include "kernels/exact/fold.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/tiles.h"

namespace warpfold::cpu {

// States of outputs, which the rows of a call join: of one output one row at a time.
class OutputStates {
 public:
  OutputStates(const RowNumbers& rows, void* states) : rows_(rows), states_(states) {}

  // Rows one after another, from `first` of the call's on.
  template <class X>
  void Join(std::int64_t first, const typename X::State* states, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t output = rows_.output_rows.OutputOf(rows_.first_row + first + i);
      std::atomic_flag& lock = locks_[static_cast<std::size_t>(output) % kLocks];
      while (lock.test_and_set(std::memory_order_acquire)) {
      }
      typename X::State& state = static_cast<typename X::State*>(states_)[output];
      X::Join(state, states[i]);
      X::Normalize(state);
      lock.clear(std::memory_order_release);
    }
  }

 private:
  static constexpr std::size_t kLocks = 64;

  const RowNumbers& rows_;
  void* const states_;
  mutable std::atomic_flag locks_[kLocks] = {};
};

// Where the states of a call's rows go.
struct ExactEpilogue {
  const Output& output;
  const OutputStates* joins = nullptr;  // unless null, these and not the output
};

template <class X>
class EngineOf final : public Engine {
 public:
  std::size_t StateBytes() const override { return sizeof(State); }

  void FoldElements(const void* data, const Extent& extent, const Output& output,
                    ParallelFor parallel_for) const override {
    Fold(static_cast<const Stored*>(data), extent, {output}, parallel_for);
  }

  void FoldStates(const void* states, const Extent& extent, const Output& output,
                  ParallelFor parallel_for) const override {
    JoinStates(static_cast<const State*>(states), extent, {output}, parallel_for);
  }

  void ClearStates(void* states, std::int64_t count) const override {
    std::fill_n(static_cast<State*>(states), count, X::Identity());
  }

  void AddElements(const void* data, const Extent& extent, const RowNumbers& rows, void* states,
                   ParallelFor parallel_for) const override {
    Output output;
    output.states = states;
    const OutputStates outputs(rows, states);
    Fold(static_cast<const Stored*>(data), extent, {output, &outputs}, parallel_for);
  }

  void AddStates(const void* from, std::int64_t count, void* states) const override {
    for (std::int64_t i = 0; i < count; ++i) {
      State& state = static_cast<State*>(states)[i];
      X::Join(state, static_cast<const State*>(from)[i]);
      X::Normalize(state);
    }
  }

 private:
  using T = typename X::Element;
  using Stored = typename X::Storage;
  using State = typename X::State;

  static void Fold(const Stored* data, const Extent& extent, const ExactEpilogue& epilogue,
                   ParallelFor parallel_for) {
    if (extent.inner > 1) {
      FoldColumns(data, extent, epilogue, parallel_for);
    } else if (extent.count <= kTaskElements) {
      FoldWholeRows(data, extent, epilogue, parallel_for);
    } else {
      FoldLongRows(data, extent, epilogue, parallel_for);
    }
  }

  static void JoinStates(const State* states, const Extent& extent, const ExactEpilogue& epilogue,
                         ParallelFor parallel_for) {
    constexpr std::int64_t kAtOnce =
        std::clamp<std::int64_t>((16 << 10) / static_cast<std::int64_t>(sizeof(State)), 8, 256);
    parallel_for(CeilDiv(extent.outputs(), kAtOnce), [&](std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * kAtOnce, extent.outputs());
      std::vector<State> joined;
      std::int64_t columns;
      for (std::int64_t i = task * kAtOnce; i < end; i += columns) {
        const std::int64_t column = i % extent.inner;
        columns = std::min(end - i, extent.inner - column);
        joined.assign(static_cast<std::size_t>(columns), X::Identity());
        const State* from = states + i / extent.inner * extent.count * extent.inner + column;
        for (std::int64_t k = 0; k < extent.count; ++k, from += extent.inner) {
          for (std::int64_t c = 0; c < columns; ++c) {
            X::Join(joined[static_cast<std::size_t>(c)], from[c]);
          }
        }
        Emit(epilogue, i, joined.data(), columns);
      }
    });
  }

  // A task's share of the data: large against the cost of handing it out, small against a core's
  // L2.
  static constexpr std::int64_t kTaskBytes = 256 << 10;
  static constexpr std::int64_t kTaskElements = kTaskBytes / static_cast<std::int64_t>(sizeof(T));

  // Of outputs one after another; normalises their states.
  static void Emit(const ExactEpilogue& epilogue, std::int64_t first, State* states,
                   std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) X::Normalize(states[i]);
    if (epilogue.joins != nullptr) {
      epilogue.joins->template Join<X>(first, states, count);
    } else {
      EmitRun<FusionWriter<X>>(epilogue.output, first, states, count);
    }
  }

  // Adds elements one after another to a state, which has to be normalised before and after.
  static void AddRun(const ExactRun<X>& run, const Stored* elements, std::int64_t count,
                     std::int64_t first, State& state) {
    auto leaders = run.NoLeaders();
    if constexpr (!kIsLifted<Stored>) {
      run.Add(elements, count, first, leaders, state);
    } else {
      constexpr std::int64_t kAtOnce = (16 << 10) / static_cast<std::int64_t>(sizeof(T));
      T lifted[kAtOnce];
      for (std::int64_t i = 0; i < count; i += kAtOnce) {
        const std::int64_t size = std::min(kAtOnce, count - i);
        CopyLifted(elements + i, size, lifted);
        run.Add(lifted, size, first + i, leaders, state);
        X::Normalize(state);
      }
    }
  }

  static void FoldWholeRows(const Stored* data, const Extent& extent, const ExactEpilogue& epilogue,
                            ParallelFor parallel_for) {
    const std::int64_t rows_per_task = kTaskElements / extent.count;
    constexpr std::int64_t kAtOnce = sizeof(State) <= 256 ? 16 : 1;
    const ExactRun<X> run(epilogue.output);
    const bool are_short =
        extent.count <= kShortRow && ShortOutputs<X>::Serve(run, epilogue.output, extent.count);
    parallel_for(CeilDiv(extent.outer, rows_per_task), [&](std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * rows_per_task, extent.outer);
      if constexpr (ShortOutputs<X>::kServe) {
        if (are_short) {
          FoldShortRows(data, extent, task * rows_per_task, end, run, epilogue);
          return;
        }
      }
      State states[kAtOnce];
      for (std::int64_t row = task * rows_per_task; row < end; row += kAtOnce) {
        const std::int64_t rows = std::min(kAtOnce, end - row);
        for (std::int64_t i = 0; i < rows; ++i) {
          states[i] = X::Identity();
          const std::int64_t first = (row + i) * extent.count;
          AddRun(run, data + first, extent.count, extent.first + first, states[i]);
        }
        Emit(epilogue, row, states, rows);
      }
    });
  }

  // Rows of up to so many elements are sooner made columns of: nine statistics of 512 f32 took 246
  // ns a row so, and 334 as tiles (one core of an EPYC, Zen 4, 2026-11-27).
  static constexpr std::int64_t kShortRow = X::kSums == exact::Sums::kStatistics ? 512 : 128;

  // The rows [begin, end).
  static void FoldShortRows(const Stored* data, const Extent& extent, std::int64_t begin,
                            std::int64_t end, const ExactRun<X>& run,
                            const ExactEpilogue& epilogue) {
    constexpr std::int64_t kBytes = 12 << 10;  // twice, in the first-level cache
    const std::int64_t count = extent.count;
    const std::int64_t at_once =
        std::max<std::int64_t>(kBytes / (count * static_cast<std::int64_t>(sizeof(T))), 16);
    ShortOutputs<X> outputs(run, epilogue.output, at_once);
    const auto room = std::make_unique_for_overwrite<T[]>(
        static_cast<std::size_t>(ShortOutputs<X>::RoomFor(at_once, count)));
    for (std::int64_t row = begin; row < end; row += at_once) {
      outputs.FoldRows(data + row * count, count, std::min(at_once, end - row), row,
                       extent.first + row * count, room.get());
    }
  }

  static void FoldLongRows(const Stored* data, const Extent& extent, const ExactEpilogue& epilogue,
                           ParallelFor parallel_for) {
    const std::int64_t parts = CeilDiv(extent.count, kTaskElements);
    std::vector<State> partials(static_cast<std::size_t>(extent.outer * parts));
    const ExactRun<X> run(epilogue.output);
    parallel_for(extent.outer * parts, [&](std::int64_t task) {
      const std::int64_t begin = task % parts * kTaskElements;
      const std::int64_t first = task / parts * extent.count + begin;
      State& state = partials[static_cast<std::size_t>(task)];
      state = X::Identity();
      AddRun(run, data + first, std::min(kTaskElements, extent.count - begin), extent.first + first,
             state);
      X::Normalize(state);
    });
    JoinStates(partials.data(), {extent.outer, parts, 1}, epilogue, parallel_for);
  }

  // How the columns of [outer, count, inner] are cut into tasks: blocks of columns, parts of whole
  // blocks of rows.
  struct ColumnTasks {
    std::int64_t columns;  // of a block
    std::int64_t blocks_per_plane;
    std::int64_t rows;       // of a block
    std::int64_t part_rows;  // of a task
    std::int64_t parts;

    ColumnTasks(const Extent& extent, bool reads_once) {
      constexpr std::int64_t kElementBytes = sizeof(T);
      // What reads elements once reads rows in long runs; all else reads a block again, which stays
      // in L2, and sums have a cost for each of its columns.
      constexpr std::int64_t kRows = X::kHasValuesAlone ? 64 : 512;
      constexpr std::int64_t kColumnsMax =
          std::min<std::int64_t>(4096, (std::int64_t{1} << 20) / sizeof(State));
      const std::int64_t of_block =
          reads_once ? 2048 : CeilDiv(kTaskElements, std::min(extent.count, kRows));
      columns = std::min({extent.inner, kColumnsMax, of_block});
      blocks_per_plane = CeilDiv(extent.inner, columns);
      rows = std::clamp(kTaskElements / columns, reads_once ? kColumnSumRowsMax : std::int64_t{1},
                        ExactColumns<X>::kRowsMax);
      // Partial states are few against the elements, and tasks enough for all cores.
      constexpr std::int64_t kTasks = 64;
      constexpr std::int64_t kPartRows =
          CeilDiv(16 * static_cast<std::int64_t>(sizeof(State)), kElementBytes);
      constexpr std::int64_t kPartRowsMax = std::int64_t{1} << 30;  // until states are normalised
      const std::int64_t blocks = extent.outer * blocks_per_plane;
      part_rows =
          std::max({kPartRows, kColumnSumRowsMax, CeilDiv(extent.count, CeilDiv(kTasks, blocks))});
      part_rows = std::min(CeilDiv(part_rows, rows), kPartRowsMax / rows) * rows;
      parts = CeilDiv(extent.count, part_rows);
    }
  };

  static void FoldColumns(const Stored* data, const Extent& extent, const ExactEpilogue& epilogue,
                          ParallelFor parallel_for) {
    const ExactRun<X> run(epilogue.output);
    const ColumnTasks tasks(extent, run.reads_once());
    const std::int64_t blocks = extent.outer * tasks.blocks_per_plane;
    std::vector<State> partials(
        static_cast<std::size_t>(tasks.parts > 1 ? tasks.parts * extent.outputs() : 0));
    parallel_for(blocks * tasks.parts, [&](std::int64_t task) {
      const std::int64_t part = task / blocks;
      const std::int64_t plane = task % blocks / tasks.blocks_per_plane;
      const std::int64_t first_column = task % tasks.blocks_per_plane * tasks.columns;
      const std::int64_t columns = std::min(tasks.columns, extent.inner - first_column);
      const std::int64_t end = std::min((part + 1) * tasks.part_rows, extent.count);
      const std::int64_t first_output = plane * extent.inner + first_column;
      LiftedBlock<Stored> lifted;
      const auto indexing_from = [&](std::int64_t first) {
        return ColumnIndexing{
            .first = extent.first + first, .column_step = 1, .row_step = extent.inner};
      };
      if constexpr (ShortOutputs<X>::kServe) {
        if (ShortOutputs<X>::Serve(run, epilogue.output, extent.count)) {
          const std::int64_t first = plane * extent.count * extent.inner + first_column;
          const auto elements = lifted.Of(data + first, extent.inner, extent.count, columns);
          ShortOutputs<X>(run, epilogue.output, columns)
              .FoldColumns(elements.data, elements.step, extent.count, columns, first_output,
                           indexing_from(first));
          return;
        }
      }
      ExactColumns<X> block(run, std::min(tasks.rows, extent.count), columns);
      std::vector<State> states(static_cast<std::size_t>(columns), X::Identity());
      for (std::int64_t row = part * tasks.part_rows; row < end; row += tasks.rows) {
        const std::int64_t first = (plane * extent.count + row) * extent.inner + first_column;
        const std::int64_t rows = std::min(tasks.rows, end - row);
        const auto elements = lifted.Of(data + first, extent.inner, rows, columns);
        block.Add(elements.data, elements.step, indexing_from(first), rows, states.data());
      }
      if (tasks.parts == 1) {
        Emit(epilogue, first_output, states.data(), columns);
        return;
      }
      for (State& state : states) X::Normalize(state);
      std::copy(states.begin(), states.end(),
                partials.begin() + part * extent.outputs() + first_output);
    });
    if (tasks.parts > 1) {
      JoinStates(partials.data(), {1, tasks.parts, extent.outputs()}, epilogue, parallel_for);
    }
  }
};

template <class X>
inline constexpr EngineOf<X> kEngineOf{};

template <typename T>
const Engine& EngineFor(FusedOpSet fused_op_set) {
  return exact::VisitFusion<T>(fused_op_set, [](auto fusion) -> const Engine& {
    return kEngineOf<typename decltype(fusion)::type>;
  });
}

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_ENGINE_OF_H_
