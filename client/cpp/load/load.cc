#include "client/cpp/load/load.h"

#include <algorithm>
#include <barrier>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/first_wait.h"
#include "client/cpp/load/load_client.h"
#include "client/cpp/retry.h"

namespace warpfold::client {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::uint64_t kArrivalsSeed = 20261121;
// Of a client that finds nobody: a refused connection fails within microseconds.
constexpr std::chrono::milliseconds kPauseFirst(10);
constexpr std::chrono::milliseconds kPauseMax(200);
// A run that ends without an answer for so long has lost its server; a shorter one, for half of it.
constexpr Seconds kLostAfter(1);
// A server far away takes some time to connect to, whatever LoadOptions::give_up_after is.
constexpr Seconds kConnectLeast(1);

steady_clock::duration Ticks(Seconds seconds) {
  return std::chrono::duration_cast<steady_clock::duration>(seconds);
}

// When a client's requests are due.
class Arrivals {
 public:
  // `rate` requests/s, or as soon as they can be sent if it is 0.
  Arrivals(double rate, std::uint64_t seed, steady_clock::time_point start)
      : random_(seed), gap_s_(rate > 0 ? rate : 1), open_(rate > 0), next_(start) {
    if (open_) Advance();
  }

  steady_clock::time_point Next() const { return open_ ? next_ : steady_clock::now(); }
  void Advance() {
    if (open_) next_ += Ticks(Seconds(gap_s_(random_)));
  }

 private:
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_s_;
  bool open_;
  steady_clock::time_point next_;
};

// What one client measured.
struct ClientResult {
  absl::Status status;   // of connecting and of the warm-up
  absl::Status gave_up;  // of what was measured
  LoadReport report;
  steady_clock::time_point last_answer_at;
  steady_clock::time_point end;  // of the last request; closing the connection is not measured
  std::optional<steady_clock::time_point> silent_since;  // as Loop has it
  absl::Status last_failure;
};

// One client's loop: sends what is due, receives what is answered.
class Loop {
 public:
  Loop(LoadClient& client, LoadCounters* counters, LoadReport& report)
      : client_(client),
        counters_(counters),
        report_(report),
        due_(static_cast<std::size_t>(client.in_flight_max())) {
    for (int slot = client.in_flight_max(); slot-- > 0;) free_.push_back(slot);
  }

  // Sends for `duration`, and at least `requests_min` requests; returns when all are answered, or
  // with a failure when nobody answers any longer, or `stop` is set.
  absl::Status Run(Arrivals arrivals, Seconds duration, std::int64_t requests_min,
                   Seconds give_up_after, const std::atomic<bool>& stop) {
    last_answer_at_ = steady_clock::now();
    const auto end = last_answer_at_ + Ticks(duration);
    std::int64_t sent = 0;
    while (true) {
      const auto due = arrivals.Next();
      const auto sends_at = std::max(due, paused_until_);
      const bool more = sent < requests_min || std::max(sends_at, steady_clock::now()) < end;
      const bool idle = free_.size() == due_.size();
      if (stop) return absl::OkStatus();
      if (unanswered_since_.has_value() &&
          last_failure_at_ - *unanswered_since_ >= Ticks(give_up_after)) {
        return GaveUp();
      }
      if (!more && idle) return absl::OkStatus();
      if (more && !free_.empty() && sends_at <= steady_clock::now()) {
        SendDue(due);
        arrivals.Advance();
        ++sent;
      } else if (idle) {
        std::this_thread::sleep_until(sends_at);
      } else {
        ReceiveUntil(more && !free_.empty() ? sends_at : steady_clock::time_point::max());
      }
    }
  }

  const absl::Status& last_failure() const { return last_failure_; }

  steady_clock::time_point last_answer_at() const { return last_answer_at_; }  // or the start

  // The last answer, or the start, when nobody has answered since: the last request failed with
  // UNAVAILABLE or DEADLINE_EXCEEDED.
  std::optional<steady_clock::time_point> silent_since() const {
    if (!unanswered_since_.has_value()) return std::nullopt;
    return last_answer_at_;
  }

 private:
  void SendDue(steady_clock::time_point due) {
    const int slot = free_.back();
    free_.pop_back();
    due_[static_cast<std::size_t>(slot)] = due;
    client_.Send(slot);
  }

  void ReceiveUntil(steady_clock::time_point until) {
    const auto far = system_clock::time_point::max();
    const auto deadline = until == steady_clock::time_point::max()
                              ? far
                              : system_clock::now() + std::chrono::ceil<system_clock::duration>(
                                                          until - steady_clock::now());
    std::optional<LoadClient::Outcome> outcome = client_.Receive(deadline);
    if (!outcome.has_value()) return;
    const auto latency = steady_clock::now() - due_[static_cast<std::size_t>(outcome->slot)];
    free_.push_back(outcome->slot);
    if (outcome->status.ok()) {
      report_.latencies.Record(latency);
      report_.server.Record(outcome->timing);
      report_.device = std::move(outcome->device);
      if (counters_ != nullptr) ++counters_->answered;
      last_answer_at_ = steady_clock::now();
      unanswered_since_.reset();
      pause_ = kPauseFirst;
    } else {
      ++report_.failures[outcome->status.code()];
      if (counters_ != nullptr) ++counters_->failed;
      last_failure_ = std::move(outcome->status);
      last_failure_at_ = steady_clock::now();
      const bool is_dead =
          absl::IsUnavailable(last_failure_) || absl::IsDeadlineExceeded(last_failure_);
      if (is_dead && !unanswered_since_.has_value()) unanswered_since_ = last_failure_at_;
      if (!is_dead) unanswered_since_.reset();
      Pause();
    }
  }

  // After a failure. A refusal by a server that is there counts, as often as it comes; and the
  // requests that a stream takes with it are one failure.
  void Pause() {
    const bool is_nobody =
        absl::IsUnavailable(last_failure_) && !RetryDelayOf(last_failure_).has_value();
    if (!is_nobody || last_failure_at_ < paused_until_) return;
    paused_until_ = last_failure_at_ + pause_;
    pause_ = std::min(2 * pause_, kPauseMax);
  }

  absl::Status GaveUp() const {
    std::int64_t failures = 0;
    for (const auto& [code, count] : report_.failures) failures += count;
    return absl::Status(last_failure_.code(),
                        absl::StrCat("gave up: no answer any longer, after ",
                                     report_.latencies.count(), " answers and ", failures,
                                     " failures of a client; the last: ", last_failure_.message()));
  }

  LoadClient& client_;
  LoadCounters* counters_;
  LoadReport& report_;
  std::optional<steady_clock::time_point> unanswered_since_;  // nobody has answered since
  steady_clock::time_point last_failure_at_;
  steady_clock::time_point last_answer_at_;
  steady_clock::time_point paused_until_;  // nothing is sent before
  std::chrono::milliseconds pause_ = kPauseFirst;
  std::vector<steady_clock::time_point> due_;  // by slot
  std::vector<int> free_;                      // slots
  absl::Status last_failure_;
};

// A closed loop for the warm-up's time. The failure of a client that nobody answers.
absl::Status WarmUp(LoadClient& client, Seconds duration, Seconds give_up_after) {
  LoadReport report;
  Loop loop(client, nullptr, report);
  const std::atomic<bool> stop = false;
  absl::Status run = loop.Run(Arrivals(0, kArrivalsSeed, {}), duration, 1, give_up_after, stop);
  if (!run.ok()) return run;
  return report.latencies.count() > 0 ? absl::OkStatus() : loop.last_failure();
}

// A deadline of connecting that is not LoadOptions::timeout is said to be that.
absl::Status NotConnected(const absl::Status& status, const LoadOptions& options) {
  const Seconds waited = ConnectTimeoutOf(options);
  if (!absl::IsDeadlineExceeded(status) || waited >= options.timeout) return status;
  return absl::DeadlineExceededError(
      absl::StrFormat("gave up: %s did not answer within %.3g s", options.target, waited.count()));
}

void Join(ClientResult& from, steady_clock::time_point start, LoadReport& to) {
  to.elapsed = std::max<Seconds>(to.elapsed, from.end - start);
  to.latencies.Add(from.report.latencies);
  to.server.Add(from.report.server);
  for (const auto& [code, count] : from.report.failures) to.failures[code] += count;
  if (!from.report.device.empty()) to.device = std::move(from.report.device);
}

// Sets `lost` when no client had an answer at the end of the run; its figures are those before.
void NoteLoss(const std::vector<ClientResult>& results, steady_clock::time_point start,
              LoadReport& report) {
  steady_clock::time_point last_answer = start;
  for (const ClientResult& result : results) {
    if (!result.silent_since.has_value()) return;
    last_answer = std::max(last_answer, *result.silent_since);
  }
  const Seconds silent = report.elapsed - (last_answer - start);
  if (silent < std::min(kLostAfter, report.elapsed / 2)) return;
  const absl::Status& failure = results[0].last_failure;
  report.lost = absl::Status(
      failure.code(), absl::StrFormat("nobody answered for the last %.2f of %.2f s: %s",
                                      silent.count(), report.elapsed.count(), failure.message()));
  report.elapsed = last_answer - start;
}

// A client gave up: what there is are the figures up to the last answer, unless there was none.
absl::StatusOr<LoadReport> Abandoned(const std::vector<ClientResult>& results,
                                     steady_clock::time_point start, absl::Status gave_up,
                                     LoadReport report) {
  if (report.latencies.count() == 0) return gave_up;
  report.elapsed = {};
  for (const ClientResult& result : results) {
    report.elapsed = std::max<Seconds>(report.elapsed, result.last_answer_at - start);
  }
  report.lost = std::move(gave_up);
  return report;
}

}  // namespace

std::chrono::milliseconds ConnectTimeoutOf(const LoadOptions& options) {
  const Seconds patience = std::max(options.give_up_after, Seconds(kConnectLeast));
  return patience < options.timeout ? std::chrono::ceil<std::chrono::milliseconds>(patience)
                                    : options.timeout;
}

void ServerTimes::Record(const v1::Timing& timing) {
  using std::chrono::nanoseconds;
  receive.Record(nanoseconds(timing.receive_ns()));
  queue.Record(nanoseconds(timing.queue_ns()));
  host_to_device.Record(nanoseconds(timing.host_to_device_ns()));
  kernel.Record(nanoseconds(timing.kernel_ns()));
  device_to_host.Record(nanoseconds(timing.device_to_host_ns()));
  total.Record(nanoseconds(timing.total_ns()));
}

void ServerTimes::Add(const ServerTimes& other) {
  receive.Add(other.receive);
  queue.Add(other.queue);
  host_to_device.Add(other.host_to_device);
  kernel.Add(other.kernel);
  device_to_host.Add(other.device_to_host);
  total.Add(other.total);
}

absl::StatusOr<LoadReport> RunLoad(const LoadOptions& options, std::span<const std::byte> payload,
                                   LoadCounters& counters) {
  WarmUpMutexes();
  std::vector<ClientResult> results(static_cast<std::size_t>(options.clients));
  std::atomic<bool> failed = false;
  steady_clock::time_point start;
  // Nobody measures while others still connect.
  std::barrier warm(options.clients, [&]() noexcept {
    start = steady_clock::now();
    counters.measuring = true;
  });
  const auto run = [&](ClientResult& result, std::uint64_t index) {
    absl::StatusOr<std::unique_ptr<LoadClient>> client = LoadClient::Make(options, payload);
    result.status = NotConnected(client.status(), options);
    if (client.ok()) result.status = WarmUp(**client, options.warmup, options.give_up_after);
    if (!result.status.ok()) failed = true;
    warm.arrive_and_wait();
    if (failed) return;
    Loop loop(**client, &counters, result.report);
    result.gave_up =
        loop.Run(Arrivals(options.rate / options.clients, kArrivalsSeed + index, start),
                 options.duration, options.requests_min, options.give_up_after, failed);
    if (!result.gave_up.ok()) failed = true;
    result.end = steady_clock::now();
    result.last_answer_at = loop.last_answer_at();
    result.silent_since = loop.silent_since();
    result.last_failure = loop.last_failure();
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back([&, i] { run(results[i], i); });
    }
  }
  LoadReport report;
  absl::Status gave_up;
  for (ClientResult& result : results) {
    if (!result.status.ok()) return result.status;
    gave_up.Update(result.gave_up);
    Join(result, start, report);
  }
  if (!gave_up.ok()) return Abandoned(results, start, std::move(gave_up), std::move(report));
  NoteLoss(results, start, report);
  return report;
}

}  // namespace warpfold::client
