#include "server/frontend/wait_limits.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/frontend/plain_call.h"

namespace warpfold {

absl::Status MessageOverdue(Services& services) {
  services.metrics.CountTimeout(Timeout::kMessage);
  return absl::DeadlineExceededError(absl::StrCat("message: is not whole after ",
                                                  services.limits.Get().message_timeout.count(),
                                                  " ms (--message-timeout-ms)"));
}

std::chrono::milliseconds WriteTimeout(const Limits& limits, std::size_t bytes) {
  const std::int64_t transfer_ms = static_cast<std::int64_t>(bytes) * 1000 / limits.min_bytes_per_s;
  return limits.write_idle_timeout + std::chrono::milliseconds(transfer_ms);
}

void CountWriteOverdue(Services& services, Method method) {
  services.metrics.CountTimeout(Timeout::kWrite);
  LogCall(services.access_log, method,
          absl::DeadlineExceededError(absl::StrCat("write: no progress for ",
                                                   services.limits.Get().write_idle_timeout.count(),
                                                   " ms (--write-idle-timeout-ms)")),
          services.limits.Get().write_idle_timeout, "", "");
}

}  // namespace warpfold
