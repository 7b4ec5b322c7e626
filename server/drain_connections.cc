#include "server/drain_connections.h"

#include <cstdint>

#include "absl/time/time.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

// Of which the server knows: one that gRPC has, and has not given it yet, is seen at the next look.
bool HasCalls(const AdmissionController& admission) {
  const AdmissionState now = admission.state();
  return now.requests_in_flight + now.requests_expected + now.answers_unwritten +
             admission.open_calls().count() + admission.read_line().waiting() >
         0;
}

}  // namespace

void EndConnectionsOfDrain(std::chrono::milliseconds timeout, const absl::Notification& ended,
                           const DrainedParts& parts) {
  constexpr absl::Duration kLook = absl::Milliseconds(50);
  constexpr std::chrono::milliseconds kLastWords{500};
  const Clock::time_point over = Clock::now() + timeout;
  Clock::time_point last = Clock::now();  // that there were calls, or connections were ended
  while (!ended.WaitForNotificationWithTimeout(kLook)) {
    const Clock::time_point now = Clock::now();
    if (now < over && HasCalls(parts.admission)) last = now;
    if (now - last < kLastWords) continue;
    last = now;
    const std::int64_t count = parts.acceptor.EndAll();
    if (count == 0) continue;
    if (now < over) {
      parts.log.Write(LogLevel::kInfo, "ended idle connections", {{"connections", count}});
    } else {
      parts.log.Write(LogLevel::kWarning, "ended connections that outlasted the drain",
                      {{"connections", count}});
    }
  }
}

}  // namespace warpfold
