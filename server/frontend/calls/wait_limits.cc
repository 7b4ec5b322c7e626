#include "server/frontend/calls/wait_limits.h"

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/core/base/refusal.h"
#include "server/frontend/requests/call_record.h"

namespace warpfold {
namespace {

absl::Status NothingCame(Services& services, Field field) {
  services.metrics.CountTimeout(Timeout::kStreamIdle);
  return AsClientTimeout(FieldStatus(
      field, absl::DeadlineExceededError(absl::StrCat(
                 "nothing came for ", services.limits.Get().stream_idle_timeout.count(), " ms"))));
}

void LogUnread(Services& services, Method method, const Peer& peer, std::chrono::milliseconds limit,
               const std::string& why) {
  LogCall(services.access_log, {.method = method,
                                .status = absl::DeadlineExceededError(absl::StrCat(
                                    "write: no progress for ", limit.count(), " ms", why)),
                                .took = limit,
                                .peer = peer});
}

}  // namespace

absl::Status MessageOverdue(Services& services) {
  services.metrics.CountTimeout(Timeout::kMessage);
  return AsClientTimeout(absl::DeadlineExceededError(
      absl::StrCat("message: is not whole after ", services.limits.Get().message_timeout.count(),
                   " ms (--message-timeout-ms)")));
}

absl::Status GaveWay(Services& services) {
  services.metrics.CountTimeout(Timeout::kCallPressed);
  return RefusalStatus(RetryLater{kPressedWriteIdle},
                       "the call waited for its client while too many others did "
                       "(--max-bytes-in-flight)");
}

absl::Status HeaderOverdue(Services& services) { return NothingCame(services, Field::kHeader); }

absl::Status ChunkOverdue(Services& services) { return NothingCame(services, Field::kChunk); }

absl::Status ChunksTooSlow(Services& services) {
  services.metrics.CountTimeout(Timeout::kRate);
  return AsClientTimeout(
      FieldStatus(Field::kChunk, absl::DeadlineExceededError(absl::StrCat(
                                     "slower than ", services.limits.Get().min_bytes_per_s,
                                     " bytes/s for too long (--min-bytes-per-s)"))));
}

void CountWriteOverdue(Services& services, Method method, const Peer& peer,
                       std::chrono::milliseconds limit, std::size_t bytes) {
  services.metrics.CountTimeout(Timeout::kWrite);
  LogUnread(services, method, peer, limit,
            absl::StrCat(" (--write-idle-timeout-ms and ", bytes, " bytes at --min-bytes-per-s)"));
}

void CountWritePressed(Services& services, Method method, const Peer& peer, std::size_t bytes) {
  services.metrics.CountTimeout(Timeout::kWritePressed);
  LogUnread(services, method, peer, PressedWriteTimeout(static_cast<std::int64_t>(bytes)),
            absl::StrCat(" while others were refused (", kPressedWriteIdle.count(), " ms and ",
                         bytes, " bytes at ", kPressedBytesPerS, " bytes/s)"));
}

}  // namespace warpfold
