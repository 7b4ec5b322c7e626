#include "client/cpp/retry.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "google/protobuf/any.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace warpfold::client {
namespace {

constexpr char kRetryDelayKey[] = "warpfold/retry-delay-ms";

}  // namespace

using std::chrono::milliseconds;

std::optional<milliseconds> PushbackOf(const grpc::Status& status,
                                       std::optional<std::int64_t> pushback_trailer_ms) {
  if (pushback_trailer_ms.has_value()) return milliseconds(*pushback_trailer_ms);
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  return PushbackOf(details);
}

std::optional<milliseconds> PushbackOf(const google::rpc::Status& status) {
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::RetryInfo info;
    if (!detail.UnpackTo(&info)) continue;
    // RetryInfo is in nanoseconds: round up, so that a retry never comes too early.
    const std::int64_t seconds = std::clamp<std::int64_t>(info.retry_delay().seconds(), -1, 86'400);
    return std::chrono::ceil<milliseconds>(std::chrono::seconds(seconds) +
                                           std::chrono::nanoseconds(info.retry_delay().nanos()));
  }
  return std::nullopt;
}

absl::Status WithRetryDelay(absl::Status status, std::optional<milliseconds> pushback) {
  if (pushback.has_value() && *pushback >= milliseconds(0)) {
    status.SetPayload(kRetryDelayKey, absl::Cord(absl::StrCat(pushback->count())));
  }
  return status;
}

std::optional<milliseconds> RetryDelayOf(const absl::Status& status) {
  const absl::optional<absl::Cord> text = status.GetPayload(kRetryDelayKey);
  std::int64_t delay_ms = 0;
  if (!text.has_value() || !absl::SimpleAtoi(std::string(*text), &delay_ms)) return std::nullopt;
  return milliseconds(delay_ms);
}

Retrier::Retrier(const RetryPolicy& policy, std::uint64_t seed)
    : policy_(policy), backoff_(policy.backoff_first), seed_(seed) {}

std::optional<milliseconds> Retrier::NextDelay(const grpc::Status& status,
                                               std::optional<milliseconds> pushback,
                                               milliseconds time_left) {
  const bool full = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  // CANCELLED is gRPC's answer to a call that reaches a server while it shuts down.
  const bool gone = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                    status.error_code() == grpc::StatusCode::CANCELLED;
  // Another call is in the way: often an earlier attempt of this one that the server has not yet
  // seen end.
  const bool in_the_way = status.error_code() == grpc::StatusCode::ABORTED;
  if (!full && !gone && !in_the_way) return std::nullopt;
  if (full && !pushback.has_value()) return std::nullopt;  // over a limit: it will never fit
  if (pushback.has_value() && *pushback < milliseconds(0)) return std::nullopt;
  if (policy_.attempts_max != 0 && attempts_ >= policy_.attempts_max) return std::nullopt;

  // Never earlier than the server asked; jitter on top spreads the clients that were refused
  // together.
  milliseconds delay = Jittered(backoff_);
  if (pushback.has_value()) delay = *pushback + std::min(delay, *pushback / 4);
  if (delay >= time_left) return std::nullopt;

  ++attempts_;
  const auto grown = std::chrono::duration<double, std::milli>(backoff_) * policy_.backoff_factor;
  backoff_ = std::min(std::chrono::duration_cast<milliseconds>(grown), policy_.backoff_max);
  return delay;
}

milliseconds Retrier::Jittered(milliseconds delay) {
  if (!random_.has_value()) random_.emplace(seed_);
  std::uniform_real_distribution<double> factor(1.0 - policy_.jitter, 1.0 + policy_.jitter);
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double, std::milli>(delay) *
                                                  factor(*random_));
}

}  // namespace warpfold::client
