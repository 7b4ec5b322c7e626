#include "bench/service/load.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <thread>

#include "absl/status/status.h"
#include "client/cpp/connection.h"
#include "client/cpp/message.h"

namespace warpfold::bench {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::chrono::seconds kRequestTimeout(120);

// What one client measured.
struct ClientResult {
  absl::Status status;
  std::vector<std::int64_t> latencies_ns;
  int results_per_answer = 0;
  steady_clock::time_point end;  // of the last request; closing the connection is not measured
};

// One client: a connection and the request that it repeats.
class LoadClient {
 public:
  LoadClient(const LoadOptions& options, std::span<const std::byte> payload)
      : options_(options), payload_(payload), connection_(options.server, {}) {
    v1::ReduceRequest request;
    request.mutable_tensor()->set_dtype(v1::DTYPE_F32);
    request.mutable_tensor()->add_shape(static_cast<std::int64_t>(payload.size() / sizeof(float)));
    for (const client::Op op : options.ops) request.add_ops(op);
    head_ = options.by_stream ? client::StreamHeaderMessage(request)
                              : client::ReduceRequestHead(request, payload.size());
  }

  // Sends requests for `duration`, and at least `requests_min` of them.
  void Run(std::chrono::duration<double> duration, std::int64_t requests_min,
           const std::atomic<bool>& failed, ClientResult& result) {
    const auto end = steady_clock::now() + duration;
    for (std::int64_t sent = 0; sent < requests_min || steady_clock::now() < end; ++sent) {
      if (failed) return;
      const auto start = steady_clock::now();
      result.status = SendOne(result.results_per_answer);
      if (!result.status.ok()) return;
      const std::chrono::nanoseconds latency = steady_clock::now() - start;
      result.latencies_ns.push_back(latency.count());
    }
  }

 private:
  absl::Status SendOne(int& results_per_answer) {
    const client::CallLimits limits{system_clock::now() + kRequestTimeout, {}};
    client::CallReply reply =
        options_.by_stream ? connection_.Stream(client::kReduceStreamMethod, head_, payload_,
                                                options_.chunk_bytes, limits, {})
                           : connection_.Unary(client::kReduceMethod, head_, payload_, limits);
    if (!reply.status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(reply.status.error_code()),
                          reply.status.error_message());
    }
    v1::ReduceResponse answer;
    absl::Status parsed = client::Parse(reply.response, answer);
    results_per_answer = answer.results_size();
    return parsed;
  }

  const LoadOptions& options_;
  std::span<const std::byte> payload_;
  client::Connection connection_;
  std::string head_;
};

}  // namespace

std::int64_t LoadReport::PercentileNs(double percent) const {
  const auto rank =
      static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(latencies_ns.size())));
  return latencies_ns[std::max<std::size_t>(rank, 1) - 1];
}

absl::StatusOr<LoadReport> RunLoad(const LoadOptions& options, std::span<const std::byte> payload) {
  std::vector<ClientResult> results(static_cast<std::size_t>(options.clients));
  std::atomic<bool> failed = false;
  std::barrier warm(options.clients + 1);
  steady_clock::time_point start;
  {
    std::vector<std::jthread> threads;
    for (ClientResult& result : results) {
      threads.emplace_back([&] {
        LoadClient load_client(options, payload);
        load_client.Run(options.warmup, 1, failed, result);
        if (!result.status.ok()) failed = true;
        result.latencies_ns.clear();
        warm.arrive_and_wait();  // nobody measures while others still connect
        if (!failed) load_client.Run(options.duration, options.requests_min, failed, result);
        result.end = steady_clock::now();
        if (!result.status.ok()) failed = true;
      });
    }
    warm.arrive_and_wait();
    start = steady_clock::now();
  }
  LoadReport report;
  for (const ClientResult& result : results) {
    if (!result.status.ok()) return result.status;
    report.elapsed = std::max<std::chrono::duration<double>>(report.elapsed, result.end - start);
    report.latencies_ns.insert(report.latencies_ns.end(), result.latencies_ns.begin(),
                               result.latencies_ns.end());
    report.results_per_answer = result.results_per_answer;
  }
  std::sort(report.latencies_ns.begin(), report.latencies_ns.end());
  report.requests = static_cast<std::int64_t>(report.latencies_ns.size());
  return report;
}

}  // namespace warpfold::bench
