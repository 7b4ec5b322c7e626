// Load on a server: clients that send the same tensor again and again, and what that came to.
//
// A closed loop sends a client's next request when the last one is answered: it finds the
// throughput. An open loop sends at times that do not depend on the answers, as independent users
// do, and counts a latency from the time at which a request was due, so that a server that stalls
// cannot slow down those who time it. The times are drawn from a Poisson process with a fixed seed.
// Requests that could not be sent within the duration are not sent: the report has fewer, then.
//
// A client whose requests find nobody (UNAVAILABLE, no delay asked for) waits a little between
// them, 10 ms and up to 200 ms; what a server refuses is sent again at once.
//
// Every client has connections of its own and is the library that any program uses (client.h), or,
// of kInfer, sends as it does; with retries off: a refusal is counted, not hidden.
//
// Thread safety: RunLoad starts and joins its own threads, one per client. Failure: the status of
// a client that cannot have its first request answered, or of one that gave up
// (LoadOptions::give_up_after) when there was no answer at all; other failures are counted by code.
#ifndef WARPFOLD_CLIENT_CPP_LOAD_LOAD_H_
#define WARPFOLD_CLIENT_CPP_LOAD_LOAD_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/cpp/load/latency_histogram.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::client {

// How the tensor travels.
enum class LoadPath {
  kUnary,     // Reduce
  kStream,    // ReduceStream
  kStriped,   // one tensor over `connections` at a time
  kMany,      // ReduceMany: `window` requests of a client on their way
  kResident,  // put once by each client, then reduced by its id
  kInfer,     // ModelInfer of the Open Inference Protocol; answers have neither times nor a device
  kShared,    // in memory that each client shares with the server, of the same host
  kCuda,      // in `cuda_memory`, which another process holds
};

struct LoadOptions {
  std::string target;
  ConnectionOptions connection;
  LoadPath path = LoadPath::kUnary;
  DType dtype = v1::DTYPE_F32;
  std::vector<Op> ops = {v1::OP_SUM};  // over all elements
  int clients = 1;
  double rate = 0;  // requests/s of all clients together, open loop; 0: closed loop
  int window = 64;  // kMany only; the server takes some 64 (many_stream.h)
  int connections = ClientOptions().connections;  // kStriped and, for the upload, kResident
  std::int64_t stripe_bytes_min = ClientOptions().stripe_bytes_min;
  std::size_t chunk_bytes = ClientOptions().chunk_bytes;
  CudaMemory cuda_memory;  // kCuda only
  std::chrono::microseconds spin_max = ClientOptions().spin_max;
  std::chrono::duration<double> warmup{0.2};  // at least one request a client
  std::chrono::duration<double> duration{1.0};
  std::int64_t requests_min = 1;  // of each client: for requests that take longer than `duration`
  std::chrono::milliseconds timeout{120'000};  // of a request
  // A client that has had no answer for so long, only UNAVAILABLE and DEADLINE_EXCEEDED, ends the
  // run. So does one that has found no server for so long, or a second if that is more, when it
  // connects.
  std::chrono::duration<double> give_up_after{5};
};

// How long a client may take to connect.
std::chrono::milliseconds ConnectTimeoutOf(const LoadOptions& options);

// Of the requests measured so far, for whoever watches.
struct LoadCounters {
  std::atomic<bool> measuring = false;  // the warm-up is over
  std::atomic<std::int64_t> answered = 0;
  std::atomic<std::int64_t> failed = 0;
};

// The server's own times of the requests that were answered (v1::Timing): what of a latency is not
// in `total` went by outside the server's hands.
struct ServerTimes {
  LatencyHistogram receive, queue, host_to_device, kernel, device_to_host, total;

  void Record(const v1::Timing& timing);
  void Add(const ServerTimes& other);
};

struct LoadReport {
  std::chrono::duration<double> elapsed{0};  // from the start to the last answer or failure
  // Not OK when the server was lost: every client's last requests failed with UNAVAILABLE or
  // DEADLINE_EXCEEDED, and none had an answer for the last second or half of the run; or one gave
  // up (LoadOptions::give_up_after) after answers. `elapsed` ends with the last answer then.
  absl::Status lost;
  LatencyHistogram latencies;  // of the requests that were answered
  ServerTimes server;          // of these
  std::map<absl::StatusCode, std::int64_t> failures;
  std::string device;  // of the last answer
};

// Blocks for the warm-up and the duration. REQUIRES: `payload` is whole elements; clients, window,
// chunk_bytes > 0.
absl::StatusOr<LoadReport> RunLoad(const LoadOptions& options, std::span<const std::byte> payload,
                                   LoadCounters& counters);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_LOAD_LOAD_H_
