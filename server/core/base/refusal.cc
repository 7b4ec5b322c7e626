#include "server/core/base/refusal.h"

#include <cstdint>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

constexpr char kRetryDelayKey[] = "warpfold/retry-delay-ms";
// As for a resident tensor without room: memory is free when somebody is done with it.
constexpr std::chrono::milliseconds kNoMemoryDelay{1000};
constexpr char kMalformedKey[] = "warpfold/malformed";
constexpr char kClientTimeoutKey[] = "warpfold/client-timeout";

void SetDelay(absl::Status& status, const RetryLater& later) {
  status.SetPayload(kRetryDelayKey, absl::Cord(absl::StrCat(later.delay.count())));
}

}  // namespace

absl::Status StartingStatus(const RetryLater& later, absl::string_view message) {
  absl::Status status = absl::UnavailableError(message);
  SetDelay(status, later);
  return status;
}

absl::Status RefusalStatus(const Refusal& refusal, absl::string_view message) {
  absl::Status status = absl::ResourceExhaustedError(message);
  if (const RetryLater* later = std::get_if<RetryLater>(&refusal)) SetDelay(status, *later);
  return status;
}

std::optional<Refusal> RefusalOf(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) && !absl::IsUnavailable(status)) return std::nullopt;
  const absl::optional<absl::Cord> delay = status.GetPayload(kRetryDelayKey);
  std::int64_t delay_ms = 0;
  if (delay.has_value() && absl::SimpleAtoi(std::string(*delay), &delay_ms)) {
    return RetryLater{std::chrono::milliseconds(delay_ms)};
  }
  if (IsNoHostMemory(status)) return RetryLater{kNoMemoryDelay};
  if (absl::IsUnavailable(status)) return std::nullopt;
  return NeverFits{};
}

absl::Status AsMalformed(absl::Status status) {
  status.SetPayload(kMalformedKey, absl::Cord());
  return status;
}

bool IsMalformed(const absl::Status& status) {
  return status.GetPayload(kMalformedKey).has_value();
}

absl::Status AsClientTimeout(absl::Status status) {
  status.SetPayload(kClientTimeoutKey, absl::Cord());
  return status;
}

bool IsClientTimeout(const absl::Status& status) {
  return status.GetPayload(kClientTimeoutKey).has_value();
}

}  // namespace warpfold
