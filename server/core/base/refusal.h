// What "no" means: whether the same request may fit later, or never will.
//
// Step of a request: 2, decide. Admission and the schedulers refuse with RESOURCE_EXHAUSTED; the
// front end tells the client how long to wait, or nothing at all when waiting is useless. The kind
// travels inside the absl::Status, so that it survives every layer that only passes a status on.
// Pure functions, safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_BASE_REFUSAL_H_
#define WARPFOLD_SERVER_CORE_BASE_REFUSAL_H_

#include <chrono>
#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace warpfold {

// Something is full now, or the server is starting: the same request may fit after `delay`.
struct RetryLater {
  std::chrono::milliseconds delay{0};
};

// The request is over a limit of this server and never fits.
struct NeverFits {};

using Refusal = std::variant<RetryLater, NeverFits>;

// An UNAVAILABLE status that carries `later`: the server is starting.
absl::Status StartingStatus(const RetryLater& later, absl::string_view message);

// A RESOURCE_EXHAUSTED status that carries `refusal`.
absl::Status RefusalStatus(const Refusal& refusal, absl::string_view message);

// The refusal inside `status`; none when it is neither RESOURCE_EXHAUSTED nor made by
// StartingStatus. A RESOURCE_EXHAUSTED without a kind never fits: that is what a device says when
// its scratch memory is too small; when the host has no memory now (host_bytes.h), it may later.
std::optional<Refusal> RefusalOf(const absl::Status& status);

// `status`, an error, marked as what is said to bytes that are no message of their type: no client
// of good will sends those, so that their log lines are rarer (AccessLog).
absl::Status AsMalformed(absl::Status status);
bool IsMalformed(const absl::Status& status);

// `status`, an error, marked as the end of a call whose client was too slow: no fault of the
// server's, whatever its code says (Metrics).
absl::Status AsClientTimeout(absl::Status status);
bool IsClientTimeout(const absl::Status& status);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_BASE_REFUSAL_H_
