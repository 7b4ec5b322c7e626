#include "client/cpp/call_with_retries.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// Of a call's jitter. The system is asked once a process: it takes its time.
std::uint64_t NextSeed() {
  static std::atomic<std::uint64_t> next{std::random_device{}()};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Waits for `delay`; false when a stop was requested meanwhile.
//
// By a completion queue: gRPC connects anew only while a thread of the process waits by one, as it
// does in calls. Calls to a server that is gone fail at once, and with threads asleep between them
// what was left was gRPC's own look, every 5 s: 15 to 25 s until a client was back.
bool WaitUnlessStopped(milliseconds delay, const std::stop_token& stop) {
  grpc::CompletionQueue queue;
  grpc::Alarm alarm;
  alarm.Set(&queue, system_clock::now() + delay, nullptr);
  {
    const std::stop_callback on_stop(stop, [&alarm] { alarm.Cancel(); });
    void* tag = nullptr;
    bool passed = false;
    queue.Next(&tag, &passed);
  }
  queue.Shutdown();
  return !stop.stop_requested();
}

// A deadline that passed during an attempt says no more than that it has passed: the failure of the
// attempt before says why there was another one.
grpc::Status WithFailureBefore(const grpc::Status& status, const grpc::Status& before,
                               const std::string& target) {
  if (status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED || before.ok()) return status;
  std::string message;
  if (before.error_code() == grpc::StatusCode::UNAVAILABLE) {
    message = absl::StrCat(target, " does not answer: ");
  }
  absl::StrAppend(&message, status.error_message(), ", before that ", before.error_message());
  return {status.error_code(), message};
}

}  // namespace

absl::Status ToAbslStatus(const grpc::Status& status, const std::string& target, int attempts) {
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    message = absl::StrCat(target, ": ", message);
  }
  if (attempts > 1) absl::StrAppend(&message, " (after ", attempts, " attempts)");
  if (target.starts_with("unix:") && message.find("andshake failed") != std::string::npos) {
    message += "; a server has no TLS at its UNIX sockets: connect without";
  }
  // The codes of both are the same numbers.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), message);
}

namespace {

// Runs `attempt` with limits made by `limits_now`, until `silence` is over.
Served TryAgain(const RetryPolicy& policy, const std::string& target, const Silence& silence,
                const std::stop_token& stop, const std::function<CallLimits()>& limits_now,
                const std::function<CallReply(const CallLimits&)>& attempt) {
  Retrier retrier(policy, NextSeed());
  grpc::Status before;  // how the attempt before this one failed
  while (true) {
    const CallReply reply = attempt(limits_now());
    if (reply.status.ok()) {
      return {absl::OkStatus(), reply.response, retrier.attempts()};
    }
    const std::optional<milliseconds> pushback = PushbackOf(reply.status, reply.pushback_ms);
    const std::optional<milliseconds> delay =
        stop.stop_requested()
            ? std::nullopt
            : retrier.NextDelay(reply.status, pushback, TimeLeft(silence.ends_at()));
    if (!delay.has_value()) {
      const absl::Status status =
          ToAbslStatus(WithFailureBefore(reply.status, before, target), target, retrier.attempts());
      return {WithRetryDelay(status, pushback), {}, retrier.attempts()};
    }
    before = reply.status;
    if (!WaitUnlessStopped(*delay, stop)) {
      return {absl::CancelledError("stopped while waiting to try again"), {}, retrier.attempts()};
    }
  }
}

}  // namespace

Served CallWithRetries(const RetryPolicy& policy, const std::string& target, milliseconds timeout,
                       const std::stop_token& stop,
                       const std::function<CallReply(const CallLimits&)>& attempt) {
  const Silence silence(timeout);
  return TryAgain(
      policy, target, silence, stop,
      [&] {
        return CallLimits{system_clock::now() + TimeLeft(silence.ends_at()), stop};
      },
      attempt);
}

Served StreamWithRetries(const RetryPolicy& policy, const std::string& target,
                         milliseconds silence_max, const std::stop_token& stop,
                         const std::function<CallReply(const CallLimits&)>& attempt) {
  Silence silence(silence_max);
  return TryAgain(
      policy, target, silence, stop,
      [&] {
        return CallLimits{{}, stop, {}, &silence};
      },
      attempt);
}

}  // namespace warpfold::client
