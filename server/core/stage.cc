#include "server/core/stage.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace warpfold {

absl::Status Stage(Lane& lane, Work& work, PayloadSource& source, std::int64_t byte_count) {
  while (byte_count > 0) {
    if (absl::Status wanted = work.Wanted(); !wanted.ok()) return wanted;
    absl::StatusOr<absl::Span<std::byte>> buffer = lane.Buffer();
    if (!buffer.ok()) return buffer.status();
    const std::size_t bytes = std::min(buffer->size(), static_cast<std::size_t>(byte_count));
    absl::Status staged;
    if (const std::byte* data = source.InPlace(bytes); data != nullptr) {
      staged = lane.CommitInPlace(data);
    } else {
      staged = source.ReadInto(buffer->first(bytes));
      if (staged.ok()) staged = lane.Commit(bytes);
    }
    if (!staged.ok()) return staged;
    byte_count -= static_cast<std::int64_t>(bytes);
  }
  return absl::OkStatus();
}

}  // namespace warpfold
