// Cuts a tensor, as its bytes arrive in C order, into pieces that one slab holds and the kernels
// can fold on their own.
//
// Where the cuts fall never shows in the bits: a piece is whole planes, or an aligned power of two
// of a plane's tiles or leaves, or a part of one row that is added to running columns.
#ifndef WARPFOLD_SERVER_DEVICE_PIECES_H_
#define WARPFOLD_SERVER_DEVICE_PIECES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/plan.h"

namespace warpfold {

// The kinds, by how much of a plane (one [reduce, inner] of the geometry) fits in a slab.
enum class PieceKind {
  kPlanes,   // one or more whole planes
  kSubtree,  // `rows` rows of a plane: a subtree of its binary tree, pushed on a stack as number
             // `index`
  kRowPart,  // `columns` columns, from `column` on, of row `index` of a plane
};

struct Piece {
  std::int64_t plane = 0;
  std::int64_t planes = 1;
  std::int64_t index = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::int64_t first = 0;  // linear offset in the tensor of the first element
  std::size_t bytes = 0;
  bool ends_plane = true;
};

// Walks the pieces of one plan in order. A value; not thread-safe.
class PieceCutter {
 public:
  // REQUIRES: plan.element_count > 0; slab_bytes is a multiple of 64 KiB.
  PieceCutter(const Plan& plan, std::size_t slab_bytes);

  PieceKind kind() const { return kind_; }
  // Pieces, or for kRowPart leaves, that a plane pushes on its stack; 0 for kPlanes.
  std::int64_t pushes_per_plane() const { return pushes_per_plane_; }
  // The largest piece in rows of a plane; for kPlanes in planes.
  std::int64_t largest() const { return step_; }

  // Whether the tensor is one piece.
  bool is_whole() const { return kind_ == PieceKind::kPlanes && step_ >= geometry_.outer; }

  bool done() const { return plane_ == geometry_.outer; }
  // The next piece. REQUIRES: !done().
  Piece Next();

 private:
  Geometry geometry_;
  std::int64_t element_bytes_;
  PieceKind kind_ = PieceKind::kPlanes;
  std::int64_t step_ = 1;  // planes, rows or columns of a piece that is not the last of its kind
  std::int64_t pushes_per_plane_ = 0;
  std::int64_t plane_ = 0;
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  std::int64_t elements_ = 0;  // cut so far
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_PIECES_H_
