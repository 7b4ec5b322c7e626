#include "server/observe/log/access_log.h"

#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/observe/metrics/code_name.h"

namespace warpfold {
namespace {

// Of a client's own words, which are longer only where they are refused for that.
constexpr std::size_t kWordBytesMax = 256;

// Our own faults and the device's are for the operator to see; the client's are the client's.
LogLevel LevelOf(absl::StatusCode code) {
  if (code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown) {
    return LogLevel::kError;
  }
  return code == absl::StatusCode::kUnavailable ? LogLevel::kWarning : LogLevel::kInfo;
}

std::string_view Word(std::string_view text) { return text.substr(0, kWordBytesMax); }

std::int64_t Nanoseconds(std::chrono::nanoseconds duration) { return duration.count(); }

}  // namespace

std::string OpNames(const Plan& plan) {
  return absl::StrJoin(plan.ops, ",",
                       [](std::string* out, Op op) { absl::StrAppend(out, Name(op)); });
}

void AccessLog::SetOptions(const AccessLogOptions& options) {
  fast_per_s_.store(options.fast_per_s, std::memory_order_relaxed);
  failed_per_s_.store(options.failed_per_s, std::memory_order_relaxed);
  malformed_per_s_.store(options.malformed_per_s, std::memory_order_relaxed);
  slow_ns_.store(Nanoseconds(options.slow), std::memory_order_relaxed);
}

bool AccessLog::Takes(absl::StatusCode code, std::chrono::nanoseconds total, bool malformed) {
  if (!log_.Writes(LevelOf(code))) return false;
  if (malformed) return malformed_.Takes(malformed_per_s_.load(std::memory_order_relaxed));
  if (code != absl::StatusCode::kOk) {
    return failed_.Takes(failed_per_s_.load(std::memory_order_relaxed));
  }
  return Nanoseconds(total) >= slow_ns_.load(std::memory_order_relaxed) ||
         fast_.Takes(fast_per_s_.load(std::memory_order_relaxed));
}

void AccessLog::Write(const AccessLine& line) {
  const RequestRecord& record = line.record;
  const Peer& peer = line.peer;
  const auto stage_ns = [&record](Stage stage) {
    return Nanoseconds(record.stages[static_cast<std::size_t>(stage)]);
  };
  std::vector<LogField> fields = {{"method", Name(record.method)},
                                  {"code", CodeName(record.code)},
                                  {"request_id", Word(line.request_id)},
                                  {"peer", peer.address},
                                  {"caller", peer.caller}};
  const auto add = [&fields](std::initializer_list<LogField> more) {
    for (const LogField& field : more) fields.push_back(field);
  };
  std::string trace_id;
  std::string span_id;
  if (peer.span != nullptr) {
    trace_id = ToHex(peer.span->context.trace_id);
    span_id = ToHex(peer.span->context.span_id);
    add({{"trace_id", trace_id}, {"span_id", span_id}});
  }
  if (line.subject != nullptr) {
    const auto add_word = [&add](const char* key, const std::string& word) {
      if (!word.empty()) add({{key, Word(word)}});
    };
    add_word("tensor_id", line.subject->tensor_id);
    add_word("region", line.subject->region);
    add_word("owner", line.subject->owner);
  }
  std::string ops;
  std::string shape_text;
  if (record.plan == nullptr) {
    add({{"total_ns", Nanoseconds(record.total)}});
  } else {
    const Plan& plan = *record.plan;
    ops = OpNames(plan);
    shape_text = absl::StrCat("[", absl::StrJoin(line.shape, ","), "]");
    add({{"ops", ops},
         {"dtype", Name(plan.dtype)},
         {"shape", shape_text},
         {"bytes", plan.input_bytes},
         {"total_ns", Nanoseconds(record.total)},
         {"receive_ns", stage_ns(Stage::kReceive)},
         {"queue_ns", stage_ns(Stage::kQueue)},
         {"host_to_device_ns", stage_ns(Stage::kHostToDevice)},
         {"kernel_ns", stage_ns(Stage::kKernel)},
         {"device_to_host_ns", stage_ns(Stage::kDeviceToHost)},
         {"reply_ns", stage_ns(Stage::kReply)}});
  }
  add({{"status", line.status.message()}});
  log_.Write(LevelOf(record.code), "access", fields);
}

}  // namespace warpfold
