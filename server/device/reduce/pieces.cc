#include "server/device/reduce/pieces.h"

#include <algorithm>

#include "kernels/tiles.h"

namespace warpfold {

PieceCutter::PieceCutter(const Plan& plan, std::size_t slab_bytes)
    : geometry_(plan.geometry),
      element_bytes_(static_cast<std::int64_t>(ElementBytes(plan.dtype))) {
  const auto slab = static_cast<std::int64_t>(slab_bytes);
  const std::int64_t row_bytes = geometry_.inner * element_bytes_;
  if (geometry_.reduce * row_bytes <= slab) {
    step_ = slab / (geometry_.reduce * row_bytes);
  } else if (row_bytes <= slab) {
    kind_ = PieceKind::kRows;
    step_ = slab / row_bytes;
    if (step_ > kLeafRows) step_ -= step_ % kLeafRows;  // whole leaves
  } else {
    kind_ = PieceKind::kRowPart;
    step_ = slab / element_bytes_;
  }
}

Piece PieceCutter::Next() {
  Piece piece;
  piece.plane = plane_;
  piece.row = row_;
  piece.column = column_;
  piece.columns = geometry_.inner;
  switch (kind_) {
    case PieceKind::kPlanes:
      piece.planes = std::min(step_, geometry_.outer - plane_);
      piece.rows = geometry_.reduce;
      plane_ += piece.planes;
      break;
    case PieceKind::kRows:
      piece.rows = std::min(step_, geometry_.reduce - row_);
      row_ += piece.rows;
      break;
    case PieceKind::kRowPart:
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
