#include "server/frontend/grpc/library_log.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/frontend/wire/grpc_compat.h"
#include "server/observe/log/line_rate.h"

#if WARPFOLD_GRPC_IS_NEWER_THAN_1_51
#include "absl/base/log_severity.h"
#include "absl/log/globals.h"
#include "absl/log/initialize.h"
#include "absl/log/log_entry.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#else
#include <cstdio>

#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#endif

namespace warpfold {
namespace {

// Where lines go. gRPC's threads outlive the server.
class Target {
 public:
  void Set(Log* log, int lines_per_s) {
    absl::MutexLock lock(&mutex_);
    log_ = log;
    lines_per_s_ = lines_per_s;
    left_out_ = 0;
    rate_.emplace();
  }

  void Write(LogLevel level, std::string_view library, absl::string_view file, int line,
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

// No error of the libraries' is one of ours, most tell of a peer: it is a warning.
#if WARPFOLD_GRPC_IS_NEWER_THAN_1_51

// Both log through Abseil.
class Sink final : public absl::LogSink {
 public:
  void Send(const absl::LogEntry& entry) override {
    TheTarget().Write(LevelOf(entry.log_severity()), LibraryOf(entry.source_filename()),
                      entry.source_filename(), entry.source_line(), entry.text_message());
  }

 private:
  // What 1.51 says as INFO only where GRPC_VERBOSITY asks for it, later ones always say.
  static LogLevel LevelOf(absl::LogSeverity severity) {
    return severity == absl::LogSeverity::kInfo ? LogLevel::kDebug : LogLevel::kWarning;
  }
  static std::string_view LibraryOf(std::string_view file) {
    return absl::StrContains(file, "google/protobuf/") ? "protobuf" : "grpc";
  }
};

Sink& TheSink() {
  static Sink& sink = *new Sink;
  return sink;
}

absl::LogSeverityAtLeast stderr_before = absl::LogSeverityAtLeast::kError;

void Take() {
  // Until then Abseil writes everything to stderr, too.
  [[maybe_unused]] static const bool is_initialised = (absl::InitializeLog(), true);
  // Before an abort it still does: after it nothing that waits in a queue is written.
  stderr_before = absl::StderrThreshold();
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kFatal);
  absl::AddLogSink(&TheSink());
}

void GiveBack() {
  absl::RemoveLogSink(&TheSink());
  absl::SetStderrThreshold(stderr_before);
}

#else

// Before an abort, after which nothing that waits in a queue is written.
void WriteLastWords(const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "%s:%d %.*s\n", file, line, static_cast<int>(message.size()),
               message.data());
}

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

// Both take plain functions.
void Take() {
  gpr_set_log_function(WriteOfGrpc);
  protobuf_before = google::protobuf::SetLogHandler(WriteOfProtobuf);
}

void GiveBack() {
  google::protobuf::SetLogHandler(protobuf_before);
  gpr_set_log_function(nullptr);  // its own
}

#endif

}  // namespace

LibraryLog::LibraryLog(Log& log, int lines_per_s) {
  TheTarget().Set(&log, lines_per_s);
  Take();
}

LibraryLog::~LibraryLog() {
  GiveBack();
  TheTarget().Set(nullptr, 0);
}

}  // namespace warpfold
