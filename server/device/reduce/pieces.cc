#include "server/device/reduce/pieces.h"

#include <algorithm>

#include "kernels/tiles.h"

namespace warpfold {

PieceCutter::PieceCutter(const Plan& plan, std::size_t staging_buffer_bytes)
    : geometry_(plan.geometry),
      element_bytes_(static_cast<std::int64_t>(ElementBytes(plan.dtype))) {
  const auto staging_buffer = static_cast<std::int64_t>(staging_buffer_bytes);
  const std::int64_t row_bytes = geometry_.inner * element_bytes_;
  if (geometry_.reduce * row_bytes <= staging_buffer) {
    step_ = staging_buffer / (geometry_.reduce * row_bytes);
  } else if (row_bytes <= staging_buffer) {
    kind_ = PieceKind::kRows;
    step_ = staging_buffer / row_bytes;
    if (step_ > kLeafRows) step_ -= step_ % kLeafRows;  // whole leaves
  } else {
    kind_ = PieceKind::kRowPart;
    step_ = staging_buffer / element_bytes_;
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
