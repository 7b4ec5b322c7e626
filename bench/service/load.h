// A closed loop of clients against one server: each sends its next request when the last one is
// answered.
//
// The send path is the client library's own (client/cpp/connection.h): raw slices, no copy, no
// retries. The null server and the real one are driven by the same code; the answer is parsed for
// both.
//
// Thread safety: RunLoad starts and joins its own threads, one per client, each with a connection
// of its own. Failure: the first failed request ends the run with its status.
#ifndef WARPFOLD_BENCH_SERVICE_LOAD_H_
#define WARPFOLD_BENCH_SERVICE_LOAD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/tensor.h"

namespace warpfold::bench {

struct LoadOptions {
  std::string server;
  bool by_stream = false;
  int clients = 1;
  std::vector<client::Op> ops = {v1::OP_SUM};
  std::size_t chunk_bytes = 1 << 20;
  std::chrono::duration<double> warmup{0.2};
  std::chrono::duration<double> duration{1.0};
  std::int64_t requests_min = 3;  // per client, measured; for requests longer than the duration
};

struct LoadReport {
  std::int64_t requests = 0;
  std::chrono::duration<double> elapsed{0};
  std::vector<std::int64_t> latencies_ns;  // sorted
  int results_per_answer = 0;              // 0 from the null server

  std::int64_t PercentileNs(double percent) const;  // nearest rank; REQUIRES: requests > 0
};

// Sends the f32 vector `payload` again and again. REQUIRES: whole elements.
absl::StatusOr<LoadReport> RunLoad(const LoadOptions& options, std::span<const std::byte> payload);

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_SERVICE_LOAD_H_
