#include "server/frontend/grpc/library_log.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/observe/log/line_rate.h"

namespace warpfold {
namespace {

// Where lines go. Both libraries take plain functions, and gRPC's threads outlive the server.
class Target {
 public:
  void Set(Log* log, int lines_per_s) {
    absl::MutexLock lock(&mutex_);
    log_ = log;
    lines_per_s_ = lines_per_s;
    left_out_ = 0;
    rate_.emplace();
  }

  void Write(LogLevel level, std::string_view library, const char* file, int line,
             std::string_view message) {
    absl::MutexLock lock(&mutex_);
    if (log_ == nullptr || !log_->Writes(level)) return;
    if (!rate_->Takes(lines_per_s_)) {
      ++left_out_;
      return;
    }
    // As a field, which is quoted: a peer's words may be in it.
    log_->Write(level, "library",
                {{"name", library},
                 {"text", message},
                 {"source", absl::StrCat(file, ":", line)},
                 {"left_out", left_out_}});
    left_out_ = 0;
  }

 private:
  absl::Mutex mutex_;
  Log* log_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int lines_per_s_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<LineRate> rate_ ABSL_GUARDED_BY(mutex_);
};

Target& TheTarget() {
  static Target& target = *new Target;
  return target;
}

// Before an abort, after which nothing that waits in a queue is written.
void WriteLastWords(const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "%s:%d %.*s\n", file, line, static_cast<int>(message.size()),
               message.data());
}

// No error of the libraries' is one of ours: most tell of a peer.
LogLevel LevelOf(gpr_log_severity severity) {
  if (severity == GPR_LOG_SEVERITY_DEBUG) return LogLevel::kDebug;
  return severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo : LogLevel::kWarning;
}

void WriteOfGrpc(gpr_log_func_args* args) {
  if (absl::StartsWith(args->message, "assertion failed")) {
    WriteLastWords(args->file, args->line, args->message);
  }
  TheTarget().Write(LevelOf(args->severity), "grpc", args->file, args->line, args->message);
}

void WriteOfProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                     const std::string& message) {
  if (level == google::protobuf::LOGLEVEL_FATAL) WriteLastWords(file, line, message);
  TheTarget().Write(level == google::protobuf::LOGLEVEL_INFO ? LogLevel::kInfo : LogLevel::kWarning,
                    "protobuf", file, line, message);
}

google::protobuf::LogHandler* protobuf_before = nullptr;

}  // namespace

LibraryLog::LibraryLog(Log& log, int lines_per_s) {
  TheTarget().Set(&log, lines_per_s);
  gpr_set_log_function(WriteOfGrpc);
  protobuf_before = google::protobuf::SetLogHandler(WriteOfProtobuf);
}

LibraryLog::~LibraryLog() {
  google::protobuf::SetLogHandler(protobuf_before);
  gpr_set_log_function(nullptr);  // its own
  TheTarget().Set(nullptr, 0);
}

}  // namespace warpfold
