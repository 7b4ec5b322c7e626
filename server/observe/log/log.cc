#include "server/observe/log/log.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace warpfold {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  __builtin_unreachable();
}

const char* Name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  __builtin_unreachable();
}

// Quoted, and ASCII whatever a client's words hold: line ends, control and bidirectional characters
// would forge lines or turn them round where they are read, and a list of those grows with each
// Unicode. Bytes that are not UTF-8 become U+FFFD.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                   nlohmann::json::error_handler_t::replace);
}

std::string Text(const LogValue& value) {
  return value.number().has_value() ? absl::StrCat(*value.number()) : Quoted(value.text());
}

}  // namespace

Log::Log(const LogOptions& options)
    : Log(options, std::make_shared<DescriptorSink>(STDERR_FILENO)) {}

Log::Log(const LogOptions& options, spdlog::sink_ptr sink)
    : format_(options.format),
      sink_(std::move(sink)),
      stderr_(dynamic_cast<const DescriptorSink*>(sink_.get())),
      threads_(std::make_shared<spdlog::details::thread_pool>(
          static_cast<std::size_t>(options.queue_lines), 1)),
      logger_(std::make_shared<spdlog::async_logger>(
          "warpfold", sink_, threads_, spdlog::async_overflow_policy::overrun_oldest)) {
  logger_->set_level(SpdlogLevel(options.level));
  logger_->set_pattern(format_ == LogFormat::kJson ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
}

void Log::SetLevel(LogLevel level) { logger_->set_level(SpdlogLevel(level)); }

bool Log::Writes(LogLevel level) const { return logger_->should_log(SpdlogLevel(level)); }

void Log::Write(LogLevel level, std::string_view message, absl::Span<const LogField> fields) {
  if (!Writes(level)) return;
  std::string line;
  if (format_ == LogFormat::kJson) {
    line.append("{\"time\":\"")
        .append(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()))
        .append("\",\"level\":\"")
        .append(Name(level))
        .append("\",\"message\":")
        .append(Quoted(message));
    for (const LogField& field : fields) {
      line.append(",").append(Quoted(field.name)).append(":").append(Text(field.value));
    }
    line.append("}");
  } else {
    line.append(message);
    for (const LogField& field : fields) {
      line.append(" ").append(field.name).append("=").append(Text(field.value));
    }
  }
  // The line is data, never a format string.
  logger_->log(SpdlogLevel(level), "{}", line);
}

}  // namespace warpfold
