// One reduction as a sequence of kernel calls: which fold runs on each segment, where its states
// wait, what ends it. Of a GPU's folds; a CPU joins states in any order (cpu/cpu_folds.h).
//
// A Backend has a Job and the functions of kernels/<backend>/reduce.h with the job and stream
// bound, each returning absl::Status: FoldElements, FoldStates, JoinStates; the two scratch sizes
// and StateBytes.
#ifndef WARPFOLD_SERVER_DEVICE_REDUCE_FOLDING_H_
#define WARPFOLD_SERVER_DEVICE_REDUCE_FOLDING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/fold.h"
#include "kernels/plan.h"
#include "kernels/scratch_offsets.h"
#include "server/device/reduce/segments.h"

namespace warpfold {

// Scratch memory of one reduction, in one block:
// - states[i]: what fold i of the geometry reads; none when there are no folds
// - plane: a row of states, of the plane that is being received, when it is larger than a staging
//   buffer
// - segment: the states of the segment that is joined to those
// - partials: the kernels' own, between their passes
class ScratchLayout {
 public:
  template <class Backend>
  ScratchLayout(const Plan& plan, const SegmentCutter& cutter, const Backend& backend) {
    ScratchOffsets offsets;
    const Geometry& g = plan.geometry;
    const std::size_t state_bytes = backend.StateBytes();
    const auto bytes_of = [&](std::int64_t states) {
      return static_cast<std::size_t>(states) * state_bytes;
    };
    std::int64_t rows = g.row_count();
    for (const Geometry::Fold& fold : g.folds) {
      states.push_back(offsets.Take(bytes_of(rows)));
      rows = fold.outer * fold.inner;
    }
    std::size_t partial_bytes = 0;
    const auto partials_of = [&](std::int64_t planes, std::int64_t count, std::int64_t columns) {
      if (planes > 0 && count > 0) {
        partial_bytes =
            std::max(partial_bytes, backend.ElementsScratchBytes({planes, count, columns}));
      }
    };
    // The last segment may be smaller, which can take more partials an output.
    switch (cutter.kind()) {
      case SegmentKind::kPlanes:
        partials_of(std::min(cutter.step(), g.outer), g.reduce, g.inner);
        partials_of(g.outer % cutter.step(), g.reduce, g.inner);
        break;
      case SegmentKind::kRows:
        plane = offsets.Take(bytes_of(g.inner));
        segment = offsets.Take(bytes_of(g.inner));
        partials_of(1, cutter.step(), g.inner);
        partials_of(1, g.reduce % cutter.step(), g.inner);
        break;
      case SegmentKind::kRowPart:
        plane = offsets.Take(bytes_of(g.inner));
        segment = offsets.Take(bytes_of(cutter.step()));
        break;
    }
    for (const Geometry::Fold& fold : g.folds) {
      partial_bytes =
          std::max(partial_bytes, backend.StatesScratchBytes({fold.outer, fold.count, fold.inner}));
    }
    partials = offsets.Take(partial_bytes);
    total_bytes = offsets.total_bytes();
  }

  std::vector<std::size_t> states;
  std::size_t plane = 0;
  std::size_t segment = 0;
  std::size_t partials = 0;
  std::size_t total_bytes = 0;
};

// Drives a backend through one reduction. REQUIRES of the caller: segments in the order of the
// plan's SegmentCutter.
template <class Backend>
class Folding {
 public:
  // `scratch` has layout.total_bytes; `results` points at the final arrays, or states.
  Folding(const Plan& plan, SegmentKind kind, std::size_t state_bytes, const ScratchLayout& layout,
          void* scratch, const Output& results)
      : geometry_(plan.geometry),
        state_bytes_(state_bytes),
        kind_(kind),
        layout_(layout),
        scratch_(static_cast<char*>(scratch)),
        results_(results) {}

  absl::Status Fold(Backend& backend, const void* data, const Segment& segment) {
    const Extent extent{segment.planes, segment.rows, segment.columns, segment.first};
    void* const partials = At(layout_.partials);
    if (kind_ == SegmentKind::kPlanes) {
      return backend.FoldElements(data, extent, RowOutput(segment.plane), partials);
    }
    void* const of_plane = At(layout_.plane + Bytes(segment.column));
    const bool is_joined = segment.row > 0;
    Output output;
    output.states = is_joined ? At(layout_.segment) : of_plane;
    absl::Status status = backend.FoldElements(data, extent, output, partials);
    if (status.ok() && is_joined) {
      status = backend.JoinStates(output.states, segment.columns, of_plane);
    }
    if (!status.ok() || !segment.ends_plane) return status;
    return backend.FoldStates(At(layout_.plane), {1, 1, geometry_.inner}, RowOutput(segment.plane),
                              partials);
  }

  // After the last segment: the folds further out.
  absl::Status Finish(Backend& backend) {
    for (std::size_t f = 0; f < geometry_.folds.size(); ++f) {
      const Geometry::Fold& fold = geometry_.folds[f];
      Output output = results_;
      if (f + 1 < geometry_.folds.size()) output.states = At(layout_.states[f + 1]);
      const absl::Status status =
          backend.FoldStates(At(layout_.states[f]), {fold.outer, fold.count, fold.inner}, output,
                             At(layout_.partials));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Where the states lie that Finish folds first. REQUIRES: the geometry has folds.
  void* first_states() const { return At(layout_.states[0]); }

 private:
  void* At(std::size_t offset) const { return scratch_ + offset; }
  std::size_t Bytes(std::int64_t states) const {
    return static_cast<std::size_t>(states) * state_bytes_;
  }

  // Where the states of planes from `plane` on go: to the first fold, or, when there is none, to
  // the results, finished or, where those are states, as they are.
  Output RowOutput(std::int64_t plane) const {
    Output output = results_;
    const std::int64_t row = plane * geometry_.inner;
    char* states = geometry_.folds.empty() ? static_cast<char*>(results_.states)
                                           : scratch_ + layout_.states[0];
    if (states != nullptr) {
      output.states = states + Bytes(row);
    } else {
      output.first_result = row;
    }
    return output;
  }

  Geometry geometry_;
  std::size_t state_bytes_;
  SegmentKind kind_;
  ScratchLayout layout_;
  char* scratch_;
  Output results_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_REDUCE_FOLDING_H_
