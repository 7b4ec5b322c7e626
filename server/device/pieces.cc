#include "server/device/pieces.h"

#include <algorithm>
#include <bit>

#include "kernels/canonical.h"

namespace warpfold {
namespace {

std::int64_t PowerOfTwoAtMost(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

}  // namespace

PieceCutter::PieceCutter(const Plan& plan, std::size_t slab_bytes)
    : geometry_(plan.geometry),
      element_bytes_(static_cast<std::int64_t>(ElementBytes(plan.dtype))) {
  const std::int64_t slab = static_cast<std::int64_t>(slab_bytes);
  const std::int64_t row_bytes = geometry_.inner * element_bytes_;
  if (geometry_.reduce * row_bytes <= slab) {
    step_ = slab / (geometry_.reduce * row_bytes);
    return;
  }
  const std::int64_t unit_rows =
      geometry_.inner == 1 ? static_cast<std::int64_t>(kTileBytes) / element_bytes_ : kLeafRows;
  if (unit_rows * row_bytes <= slab) {
    kind_ = PieceKind::kSubtree;
    step_ = PowerOfTwoAtMost(slab / (unit_rows * row_bytes)) * unit_rows;
    pushes_per_plane_ = CeilDiv(geometry_.reduce, step_);
  } else {
    kind_ = PieceKind::kRowPart;
    step_ = slab / element_bytes_;
    pushes_per_plane_ = CeilDiv(geometry_.reduce, kLeafRows);
  }
}

Piece PieceCutter::Next() {
  Piece piece;
  piece.plane = plane_;
  switch (kind_) {
    case PieceKind::kPlanes:
      piece.planes = std::min(step_, geometry_.outer - plane_);
      piece.rows = geometry_.reduce;
      piece.columns = geometry_.inner;
      plane_ += piece.planes;
      break;
    case PieceKind::kSubtree:
      piece.index = row_ / step_;
      piece.rows = std::min(step_, geometry_.reduce - row_);
      piece.columns = geometry_.inner;
      row_ += piece.rows;
      break;
    case PieceKind::kRowPart:
      piece.index = row_;
      piece.rows = 1;
      piece.column = column_;
      piece.columns = std::min(step_, geometry_.inner - column_);
      column_ += piece.columns;
      if (column_ == geometry_.inner) {
        column_ = 0;
        ++row_;
      }
      break;
  }
  const std::int64_t elements = piece.planes * piece.rows * piece.columns;
  piece.first = elements_;
  elements_ += elements;
  piece.bytes = static_cast<std::size_t>(elements * element_bytes_);
  if (kind_ != PieceKind::kPlanes) {
    piece.ends_plane = row_ == geometry_.reduce;
    if (piece.ends_plane) {
      row_ = 0;
      ++plane_;
    }
  }
  return piece;
}

}  // namespace warpfold
