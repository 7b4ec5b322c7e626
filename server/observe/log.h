// Log lines as text or JSON, with fields such as request_id.
//
// Step of a request: 4, report. Safe from any thread. Lines go to stderr; a line that cannot be
// written is dropped.
#ifndef WARPFOLD_SERVER_OBSERVE_LOG_H_
#define WARPFOLD_SERVER_OBSERVE_LOG_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "spdlog/logger.h"

namespace warpfold {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// A text, which is quoted and must outlive the call, or a whole number, which is not quoted.
class LogValue {
 public:
  LogValue(const char* text) : text_(text) {}
  LogValue(const std::string& text) : text_(text) {}
  LogValue(std::string_view text) : text_(text) {}
  LogValue(absl::string_view text) : text_(text.data(), text.size()) {}
  template <std::integral T>
  LogValue(T number) : number_(static_cast<std::int64_t>(number)) {}

  // The number; none when the value is a text.
  const std::optional<std::int64_t>& number() const { return number_; }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::optional<std::int64_t> number_;
};

struct LogField {
  std::string_view name;
  LogValue value;
};

class Log {
 public:
  // Writes to stderr.
  Log(LogLevel level, LogFormat format);
  // Writes to `sink`; for tests.
  Log(LogLevel level, LogFormat format, spdlog::sink_ptr sink);

  // From now on.
  void SetLevel(LogLevel level);
  // True when a line of `level` is written at all: ask before building an expensive message.
  bool Writes(LogLevel level) const;
  void Write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

 private:
  const LogFormat format_;
  spdlog::logger logger_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_LOG_H_
