// Cuts a tensor, as its bytes arrive in C order, into segments that one staging buffer holds and
// the kernels can fold on their own. No result depends on where the cuts fall.
#ifndef WARPFOLD_SERVER_DEVICE_REDUCE_SEGMENTS_H_
#define WARPFOLD_SERVER_DEVICE_REDUCE_SEGMENTS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/plan.h"

namespace warpfold {

// The kinds, by how much of a plane (one [reduce, inner] of the geometry) fits in a staging_buffer.
enum class SegmentKind {
  kPlanes,   // one or more whole planes
  kRows,     // some rows of a plane, whole
  kRowPart,  // some columns of one row
};

// Planes, rows and columns from the ones named on.
struct Segment {
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

// Walks the segments of one plan in order. A value; not thread-safe.
class SegmentCutter {
 public:
  // REQUIRES: plan.element_count > 0; staging_buffer_bytes is a multiple of 64 KiB.
  SegmentCutter(const Plan& plan, std::size_t staging_buffer_bytes);

  SegmentKind kind() const { return kind_; }
  // Planes, rows or columns, by the kind, of a segment that is not the last of its plane or row.
  std::int64_t step() const { return step_; }

  // Whether the tensor is one segment.
  bool is_whole() const { return kind_ == SegmentKind::kPlanes && step_ >= geometry_.outer; }

  bool done() const { return plane_ == geometry_.outer; }
  // The next segment. REQUIRES: !done().
  Segment Next();

 private:
  Geometry geometry_;
  std::int64_t element_bytes_;
  SegmentKind kind_ = SegmentKind::kPlanes;
  std::int64_t step_ = 1;
  std::int64_t plane_ = 0;
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  std::int64_t elements_ = 0;  // cut so far
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_REDUCE_SEGMENTS_H_
