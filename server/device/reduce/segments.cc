#include "server/device/reduce/segments.h"

#include <algorithm>

#include "kernels/tiles.h"

namespace warpfold {

SegmentCutter::SegmentCutter(const Plan& plan, std::size_t staging_buffer_bytes)
    : geometry_(plan.geometry),
      element_bytes_(static_cast<std::int64_t>(ElementBytes(plan.dtype))) {
  const auto staging_buffer = static_cast<std::int64_t>(staging_buffer_bytes);
  const std::int64_t row_bytes = geometry_.inner * element_bytes_;
  if (geometry_.reduce * row_bytes <= staging_buffer) {
    step_ = staging_buffer / (geometry_.reduce * row_bytes);
  } else if (row_bytes <= staging_buffer) {
    kind_ = SegmentKind::kRows;
    step_ = staging_buffer / row_bytes;
    if (step_ > kLeafRows) step_ -= step_ % kLeafRows;  // whole leaves
  } else {
    kind_ = SegmentKind::kRowPart;
    step_ = staging_buffer / element_bytes_;
  }
}

Segment SegmentCutter::Next() {
  Segment segment;
  segment.plane = plane_;
  segment.row = row_;
  segment.column = column_;
  segment.columns = geometry_.inner;
  switch (kind_) {
    case SegmentKind::kPlanes:
      segment.planes = std::min(step_, geometry_.outer - plane_);
      segment.rows = geometry_.reduce;
      plane_ += segment.planes;
      break;
    case SegmentKind::kRows:
      segment.rows = std::min(step_, geometry_.reduce - row_);
      row_ += segment.rows;
      break;
    case SegmentKind::kRowPart:
      segment.columns = std::min(step_, geometry_.inner - column_);
      column_ += segment.columns;
      if (column_ == geometry_.inner) {
        column_ = 0;
        ++row_;
      }
      break;
  }
  const std::int64_t elements = segment.planes * segment.rows * segment.columns;
  segment.first = elements_;
  elements_ += elements;
  segment.bytes = static_cast<std::size_t>(elements * element_bytes_);
  if (kind_ != SegmentKind::kPlanes) {
    segment.ends_plane = row_ == geometry_.reduce;
    if (segment.ends_plane) {
      row_ = 0;
      ++plane_;
    }
  }
  return segment;
}

}  // namespace warpfold
