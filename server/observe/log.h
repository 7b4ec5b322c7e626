// Log lines as text or JSON, with fields such as request_id.
//
// Step of a request: 4, report. Safe from any thread. Lines go to stderr; a line that cannot be
// written is dropped.
#ifndef WARPFOLD_SERVER_OBSERVE_LOG_H_
#define WARPFOLD_SERVER_OBSERVE_LOG_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "spdlog/logger.h"

namespace warpfold {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

struct LogField {
  std::string_view name;
  std::string_view value;
};

class Log {
 public:
  // Writes to stderr.
  Log(LogLevel level, LogFormat format);
  // Writes to `sink`; for tests.
  Log(LogLevel level, LogFormat format, spdlog::sink_ptr sink);

  // True when a line of `level` is written at all: ask before building an expensive message.
  bool Writes(LogLevel level) const;
  void Write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

 private:
  const LogFormat format_;
  spdlog::logger logger_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_LOG_H_
