// One reduction as a sequence of kernel calls: which fold runs on each piece, where its states
// wait, what ends it. Of a GPU's folds; a CPU joins states in any order (cpu/cpu_folds.h).
//
// A Backend has a Job and the functions of kernels/<backend>/reduce.h with the job and stream
// bound, each returning absl::Status: FoldElements, FoldStates, PushStates, DrainStack; the two
// scratch sizes and StateBytes; and Copy, within the backend's memory.
#ifndef WARPFOLD_SERVER_DEVICE_FOLDING_H_
#define WARPFOLD_SERVER_DEVICE_FOLDING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/canonical.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/fold.h"
#include "kernels/plan.h"
#include "server/device/pieces.h"

namespace warpfold {

// Places in a block of scratch memory, one behind the other.
class ScratchPlaces {
 public:
  // Where so many bytes begin.
  std::size_t Take(std::size_t bytes) {
    constexpr std::size_t kAlignment = 256;
    const std::size_t offset = total_bytes_;
    total_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  std::size_t total_bytes() const { return total_bytes_; }

 private:
  std::size_t total_bytes_ = 0;
};

// Scratch memory of one reduction, laid out in one block.
//   states[i]  the states that fold i of the geometry reads; none when there are no folds
//   stack      of the plane that is being received, when planes are larger than a slab
//   leaf       a piece's states on their way to the stack
//   leaf_rows  of rows larger than a slab, those of the leaf that is being received
//   partials   the kernels' own, between their passes
class ScratchLayout {
 public:
  template <class Backend>
  ScratchLayout(const Plan& plan, const PieceCutter& cutter, const Backend& backend) {
    ScratchPlaces places;
    const Geometry& g = plan.geometry;
    const std::size_t state_bytes = backend.StateBytes();
    const auto bytes_of = [&](std::int64_t states) {
      return static_cast<std::size_t>(states) * state_bytes;
    };
    std::int64_t rows = g.row_count();
    for (const Geometry::Fold& fold : g.folds) {
      states.push_back(places.Take(bytes_of(rows)));
      rows = fold.outer * fold.inner;
    }
    stack = places.Take(bytes_of(StackLevels(cutter.pushes_per_plane()) * g.inner));
    leaf = places.Take(cutter.pushes_per_plane() > 0 ? bytes_of(g.inner) : 0);
    if (cutter.kind() == PieceKind::kRowPart) {
      leaf_rows =
          places.Take(static_cast<std::size_t>(kLeafRows * g.inner) * ElementBytes(plan.dtype));
    }

    std::size_t partial_bytes = 0;
    switch (cutter.kind()) {
      case PieceKind::kPlanes:
        // The last piece may hold fewer planes, which can take more partials each.
        for (const std::int64_t planes :
             {std::min(cutter.largest(), g.outer), g.outer % cutter.largest()}) {
          if (planes > 0)
            partial_bytes =
                std::max(partial_bytes, backend.ElementsScratchBytes({planes, g.reduce, g.inner}));
        }
        break;
      case PieceKind::kSubtree:
        for (const std::int64_t count : {cutter.largest(), g.reduce % cutter.largest()}) {
          if (count > 0)
            partial_bytes =
                std::max(partial_bytes, backend.ElementsScratchBytes({1, count, g.inner}));
        }
        break;
      case PieceKind::kRowPart:
        for (const std::int64_t rows :
             {std::min<std::int64_t>(kLeafRows, g.reduce), g.reduce % kLeafRows}) {
          if (rows > 0)
            partial_bytes =
                std::max(partial_bytes, backend.ElementsScratchBytes({1, rows, g.inner}));
        }
        break;
    }
    for (const Geometry::Fold& fold : g.folds) {
      partial_bytes =
          std::max(partial_bytes, backend.StatesScratchBytes({fold.outer, fold.count, fold.inner}));
    }
    partials = places.Take(partial_bytes);
    total_bytes = places.total_bytes();
  }

  std::vector<std::size_t> states;
  std::size_t stack = 0;
  std::size_t leaf = 0;
  std::size_t leaf_rows = 0;
  std::size_t partials = 0;
  std::size_t total_bytes = 0;
};

// Drives a backend through one reduction. REQUIRES of the caller: pieces in the order of the plan's
// PieceCutter.
template <class Backend>
class Folding {
 public:
  // `scratch` has layout.total_bytes; `results` points at the final arrays, or states.
  Folding(const Plan& plan, PieceKind kind, std::size_t state_bytes, const ScratchLayout& layout,
          void* scratch, const Output& results)
      : geometry_(plan.geometry),
        element_bytes_(ElementBytes(plan.dtype)),
        state_bytes_(state_bytes),
        kind_(kind),
        layout_(layout),
        scratch_(static_cast<char*>(scratch)),
        results_(results) {}

  absl::Status Fold(Backend& backend, const void* data, const Piece& piece) {
    const std::int64_t inner = geometry_.inner;
    switch (kind_) {
      case PieceKind::kPlanes:
        return backend.FoldElements(data, {piece.planes, piece.rows, inner, piece.first},
                                    RowOutput(piece.plane), At(layout_.partials));
      case PieceKind::kSubtree: {
        Output leaf;
        leaf.states = At(layout_.leaf);
        absl::Status status = backend.FoldElements(data, {1, piece.rows, inner, piece.first}, leaf,
                                                   At(layout_.partials));
        if (!status.ok()) return status;
        return PushLeaf(backend, piece, piece.index);
      }
      case PieceKind::kRowPart:
        return FoldRowPart(backend, data, piece);
    }
    __builtin_unreachable();
  }

  // After the last piece: the folds further out.
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

 private:
  // Rows collect until a leaf is whole.
  absl::Status FoldRowPart(Backend& backend, const void* data, const Piece& piece) {
    const std::int64_t inner = geometry_.inner;
    const std::int64_t row = piece.index % kLeafRows;
    const std::size_t offset =
        static_cast<std::size_t>(row * inner + piece.column) * element_bytes_;
    absl::Status status = backend.Copy(scratch_ + layout_.leaf_rows + offset, data, piece.bytes);
    const bool ends_row = piece.column + piece.columns == inner;
    const bool ends_leaf = ends_row && (row == kLeafRows - 1 || piece.ends_plane);
    if (!status.ok() || !ends_leaf) return status;
    Output leaf;
    leaf.states = At(layout_.leaf);
    const std::int64_t first = piece.first - piece.column - row * inner;
    status = backend.FoldElements(At(layout_.leaf_rows), {1, row + 1, inner, first}, leaf,
                                  At(layout_.partials));
    if (!status.ok()) return status;
    return PushLeaf(backend, piece, piece.index / kLeafRows);
  }

  // Number `index` of its plane on the stack, and after the last one the plane's states to where
  // they belong.
  absl::Status PushLeaf(Backend& backend, const Piece& piece, std::int64_t index) {
    const std::int64_t inner = geometry_.inner;
    const absl::Status status =
        backend.PushStates(At(layout_.leaf), inner, index, At(layout_.stack));
    if (!status.ok() || !piece.ends_plane) return status;
    return backend.DrainStack(At(layout_.stack), inner, index + 1, RowOutput(piece.plane));
  }

  void* At(std::size_t offset) const { return scratch_ + offset; }

  // Where the states of planes from `plane` on go: to the first fold, or, when there is none, to
  // the results, finished or, where those are states, as they are.
  Output RowOutput(std::int64_t plane) const {
    Output output = results_;
    const std::int64_t row = plane * geometry_.inner;
    char* states = geometry_.folds.empty() ? static_cast<char*>(results_.states)
                                           : scratch_ + layout_.states[0];
    if (states != nullptr) {
      output.states = states + static_cast<std::size_t>(row) * state_bytes_;
    } else {
      output.first_result = row;
    }
    return output;
  }

  Geometry geometry_;
  std::size_t element_bytes_;
  std::size_t state_bytes_;
  PieceKind kind_;
  ScratchLayout layout_;
  char* scratch_;
  Output results_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_FOLDING_H_
