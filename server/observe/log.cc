#include "server/observe/log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "spdlog/sinks/stdout_sinks.h"

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

// Quoted and escaped, so that a client's request_id cannot forge a line; bytes that are not UTF-8
// are replaced.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string Text(const LogValue& value) {
  return value.number().has_value() ? absl::StrCat(*value.number()) : Quoted(value.text());
}

}  // namespace

Log::Log(LogLevel level, LogFormat format)
    : Log(level, format, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {}

Log::Log(LogLevel level, LogFormat format, spdlog::sink_ptr sink)
    : format_(format), logger_("warpfold", std::move(sink)) {
  logger_.set_level(SpdlogLevel(level));
  logger_.set_pattern(format == LogFormat::kJson ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger_.flush_on(spdlog::level::info);
}

void Log::SetLevel(LogLevel level) { logger_.set_level(SpdlogLevel(level)); }

bool Log::Writes(LogLevel level) const { return logger_.should_log(SpdlogLevel(level)); }

void Log::Write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
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
  logger_.log(SpdlogLevel(level), "{}", line);
}

}  // namespace warpfold
