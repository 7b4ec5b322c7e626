#include "server/core/scheduling/stage.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"

namespace warpfold {

absl::StatusOr<bool> Staging::Turn(Worker& worker, absl::FunctionRef<absl::Status()> begin,
                                   Patience patience) {
  absl::Status status =
      std::exchange(begun_, true) ? worker.Resume(std::move(suspended_)) : begin();
  if (status.ok()) {
    const absl::StatusOr<bool> filled = Fill(worker, patience);
    status = filled.status();
    if (status.ok() && *filled) return true;
  }
  if (!status.ok()) {
    worker.Abandon();
    return status;
  }
  absl::StatusOr<std::unique_ptr<Suspended>> suspended = worker.Suspend();
  if (!suspended.ok()) return suspended.status();
  suspended_ = *std::move(suspended);
  return false;
}

absl::StatusOr<bool> Staging::Fill(Worker& worker, Patience patience) {
  while (missing_bytes_ > 0) {
    if (absl::Status why = token_.CheckCancelled(); !why.ok()) return why;
    absl::StatusOr<absl::Span<std::byte>> buffer = worker.Buffer();
    if (!buffer.ok()) return buffer.status();
    awaited_bytes_ = std::min(buffer->size(), static_cast<std::size_t>(missing_bytes_));
    if (!AwaitBytes(source_, awaited_bytes_, patience)) return false;
    absl::Status staged = StageNext(worker, buffer->first(awaited_bytes_));
    if (!staged.ok()) return staged;
    missing_bytes_ -= static_cast<std::int64_t>(awaited_bytes_);
  }
  return true;
}

absl::Status Staging::StageNext(Worker& worker, absl::Span<std::byte> buffer) {
  if (const std::byte* data = source_.InPlace(buffer.size()); data != nullptr) {
    return worker.CommitInPlace(data);
  }
  absl::Status read = source_.ReadInto(buffer);
  return read.ok() ? worker.Commit(buffer.size()) : read;
}

}  // namespace warpfold
