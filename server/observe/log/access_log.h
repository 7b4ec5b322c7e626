// One log line for each request that was answered: who asked for what, how it ended, where the time
// went.
//
// Step of a request: 4, report. Every failure and every slow success is a line, as is a sample of
// the fast successes; each kind is bounded per second, so that neither load nor an ill-behaved
// client fills a disk. Bytes that are no message cost their sender the least and say the least:
// their bound is lower, and their own, so that they push out no line of another. metrics.h counts
// what has no line. Safe from any thread.
#ifndef WARPFOLD_SERVER_OBSERVE_LOG_ACCESS_LOG_H_
#define WARPFOLD_SERVER_OBSERVE_LOG_ACCESS_LOG_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/observe/log/line_rate.h"
#include "server/observe/log/log.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/server_span.h"

namespace warpfold {

struct AccessLogOptions {
  std::int64_t fast_per_s = 10;          // lines a second for successes below slow
  std::int64_t failed_per_s = 1000;      // and for what was refused or failed
  std::int64_t malformed_per_s = 10;     // but for bytes that are no message
  std::chrono::milliseconds slow{1000};  // a success that takes as long always has a line
};

// Who called.
struct Peer {
  std::string address;               // as gRPC writes it
  std::string_view caller = {};      // its name, where the server asks for one; outlives the log
  const ServerSpan* span = nullptr;  // in its trace; null: it traces nothing
};

// What of the server a call without a tensor of its own was about; empty: nothing of the kind.
struct Subject {
  std::string tensor_id = {};
  std::string region = {};
  std::string owner = {};  // whose that is
};

// What the line of one request says.
struct AccessLine {
  const RequestRecord& record;  // without its plan: it could not be understood, or has no tensor
  std::string_view request_id;
  const Peer& peer;
  absl::Span<const std::int64_t> shape = {};
  const Subject* subject = nullptr;
  const absl::Status& status;
};

// "sum,max".
std::string OpNames(const Plan& plan);

class AccessLog {
 public:
  // `log` must outlive this.
  AccessLog(Log& log, const AccessLogOptions& options) : log_(log) { SetOptions(options); }

  // From now on.
  void SetOptions(const AccessLogOptions& options);

  // Whether a request that ended so gets a line. Counts: ask once, and Write when true.
  // `malformed`: it failed because its bytes are no message.
  bool Takes(absl::StatusCode code, std::chrono::nanoseconds total, bool malformed = false);

  void Write(const AccessLine& line);

 private:
  Log& log_;
  std::atomic<std::int64_t> fast_per_s_{0};
  std::atomic<std::int64_t> failed_per_s_{0};
  std::atomic<std::int64_t> malformed_per_s_{0};
  std::atomic<std::int64_t> slow_ns_{0};
  LineRate fast_;
  LineRate failed_;
  LineRate malformed_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_LOG_ACCESS_LOG_H_
