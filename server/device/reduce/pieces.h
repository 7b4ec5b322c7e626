// Cuts a tensor, as its bytes arrive in C order, into pieces that one staging buffer holds and the
// kernels can fold on their own. No result depends on where the cuts fall.
#ifndef WARPFOLD_SERVER_DEVICE_REDUCE_PIECES_H_
#define WARPFOLD_SERVER_DEVICE_REDUCE_PIECES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/plan.h"

namespace warpfold {

// The kinds, by how much of a plane (one [reduce, inner] of the geometry) fits in a staging_buffer.
enum class PieceKind {
  kPlanes,   // one or more whole planes
  kRows,     // some rows of a plane, whole
  kRowPart,  // some columns of one row
};

// Planes, rows and columns from the ones named on.
struct Piece {
  std::int64_t plane = 0;
  std::int64_t planes = 1;
  std::int64_t row = 0;
  std::int64_t rows = 1;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::int64_t first = 0;  // linear offset in the tensor of the first element
  std::size_t bytes = 0;
  bool ends_plane = true;
};

// Walks the pieces of one plan in order. A value; not thread-safe.
class PieceCutter {
 public:
  // REQUIRES: plan.element_count > 0; staging_buffer_bytes is a multiple of 64 KiB.
  PieceCutter(const Plan& plan, std::size_t staging_buffer_bytes);

  PieceKind kind() const { return kind_; }
  // Planes, rows or columns, by the kind, of a piece that is not the last of its plane or row.
  std::int64_t step() const { return step_; }

  // Whether the tensor is one piece.
  bool is_whole() const { return kind_ == PieceKind::kPlanes && step_ >= geometry_.outer; }

  bool done() const { return plane_ == geometry_.outer; }
  // The next piece. REQUIRES: !done().
  Piece Next();

 private:
  Geometry geometry_;
  std::int64_t element_bytes_;
  PieceKind kind_ = PieceKind::kPlanes;
  std::int64_t step_ = 1;
  std::int64_t plane_ = 0;
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  std::int64_t elements_ = 0;  // cut so far
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_REDUCE_PIECES_H_
