// The subcommands of `warpfold`: what each does once its flags are parsed. Output goes to stdout; a
// failure is returned and printed by main.
//
// Failure: absl::Status. INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE, UNIMPLEMENTED,
// FAILED_PRECONDITION, PERMISSION_DENIED, UNAUTHENTICATED and a RESOURCE_EXHAUSTED that will never
// fit are the input's or the user's (exit code 2), every other failure is the server's or the
// network's (exit code 3). Thread safety: one command runs at a time.
#ifndef WARPFOLD_CLIENT_CPP_CLI_COMMANDS_H_
#define WARPFOLD_CLIENT_CPP_CLI_COMMANDS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/cli/input.h"
#include "client/cpp/client.h"

namespace warpfold::client {

struct ServerFlags {
  std::string server = "localhost:50051";
  double timeout_s = 60;
  std::uint32_t numerics_version = 0;  // that the server has to have; 0: any
  // TLS when any of these is set. Files are PEM.
  bool tls = false;
  std::string tls_ca;           // who may have signed the server's certificate; empty: gRPC's roots
  std::string tls_cert;         // ours, when the server asks for one
  std::string tls_key;          // of ours
  std::string tls_server_name;  // in the server's certificate; empty: the host that is connected to
  std::string token_file;       // empty: the server is told no caller
  bool json = false;
  std::string color = "auto";  // color.h

  bool uses_tls() const {
    return tls ||
           !(tls_ca.empty() && tls_cert.empty() && tls_key.empty() && tls_server_name.empty());
  }
};

// What commands that take several files read; "-" is stdin.
struct FilesFlags {
  std::vector<std::string> files;
  std::string dtype;  // of raw bytes, as InputFlags
  std::vector<std::int64_t> shape;
};

struct StatisticsFlags {
  bool omit_nan = false;  // of floats
  double ddof = 0;        // of var and std
};

struct ReduceFlags {
  StatisticsFlags statistics;
  FilesFlags input;
  std::string tensor;  // empty: the only one
  std::vector<std::string> ops;
  std::vector<std::int64_t> axes;
  bool keepdims = false;
  std::string output;  // empty: none
};

struct HealthFlags {
  std::string service;  // as in grpc.health.v1; empty: the server as a whole
};

struct DescribeFlags {
  StatisticsFlags statistics;
  FilesFlags input;
  int jobs = 4;                      // tensors in flight; each job has a connection of its own
  std::vector<std::string> fail_on;  // names of findings
};

struct DiffFlags {
  std::string a, b;   // "-" is stdin
  std::string dtype;  // of raw bytes, as InputFlags
  std::vector<std::int64_t> shape;
  int jobs = 4;
  std::optional<double> tolerance;  // of |a - b|; none: of bits
};

struct WatchFlags {
  std::string metrics;  // a URL; empty: the server's host, port 9464
  double interval_s = 1;
  std::int64_t count = 0;  // reports, then the end; 0: until interrupted
};

struct BenchFlags {
  std::string method = "unary";
  std::size_t size_bytes = 4096;
  std::string dtype = "f32";
  std::vector<std::string> ops = {"sum"};
  int clients = 1;
  double duration_s = 10;
  double warmup_s = 1;
  std::int64_t requests_min = 1;
  double give_up_after_s = 5;
  double rate = 0;  // 0: a closed loop
  int window = 64;
  std::size_t chunk_bytes = ClientOptions().chunk_bytes;
  int connections = ClientOptions().connections;
  std::int64_t stripe_bytes_min = ClientOptions().stripe_bytes_min;
  std::string cuda_handle;  // hexadecimal
  std::int64_t cuda_ordinal = 0;
  std::int64_t spin_us = ClientOptions().spin_max.count();
};

// How a command that looks for something ended: nothing found (exit code 0) or something (1).
enum class Verdict { kClean, kFound };

// These two return what came of each file, in order. A file that is at fault ends nothing; any
// other failure is the last outcome.
std::vector<absl::Status> RunReduce(const ServerFlags& server, const ReduceFlags& flags);
std::vector<absl::StatusOr<Verdict>> RunDescribe(const ServerFlags& server,
                                                 const DescribeFlags& flags);
// Needs no server when the files have the same bits.
absl::StatusOr<Verdict> RunDiff(const ServerFlags& server, const DiffFlags& flags);
absl::Status RunInfo(const ServerFlags& server);
// Blocks for flags.count intervals. UNAVAILABLE when the metrics cannot be read.
absl::Status RunWatch(const ServerFlags& server, const WatchFlags& flags);
// Blocks for the warm-up and the duration. UNAVAILABLE or DEADLINE_EXCEEDED, after the figures
// if there are any, when nobody answered at the end.
absl::Status RunBench(const ServerFlags& server, const BenchFlags& flags);
absl::Status RunHealth(const ServerFlags& server, const HealthFlags& flags);

// For the commands themselves.
// `connections`: as in ClientOptions.
absl::StatusOr<std::unique_ptr<Client>> ConnectTo(const ServerFlags& flags,
                                                  int connections = ClientOptions().connections);
absl::StatusOr<ConnectionOptions> ConnectionOptionsOf(const ServerFlags& flags);
std::chrono::milliseconds TimeoutOf(const ServerFlags& flags);
// Puts what `flags` say of a tensor of `dtype` into `options`.
void SetStatistics(const StatisticsFlags& flags, DType dtype, ReduceOptions& options);
bool ServerHas(const v1::GetServerInfoResponse& info, DType dtype);
bool ServerHas(const v1::GetServerInfoResponse& info, Op op);
// "f32, f64, i32"
std::string DTypeNames(const v1::GetServerInfoResponse& info);
// Whether the failure is the input's or the user's, so that another input may fare better.
bool IsInputFault(const absl::Status& status);
// `status` with "`what`: " before its message.
absl::Status Prefixed(const std::string& what, const absl::Status& status);
// The same with a file's path when it is an input fault, else as it is.
absl::Status InFile(const std::string& path, const absl::Status& status);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_COMMANDS_H_
