// Log lines as text or JSON, in ASCII, with fields such as request_id.
//
// Step of a request: 4, report. Safe from any thread. Lines wait in a bounded queue for a thread of
// the log's own, which writes them to stderr: no request waits for a disk or a reader. What does
// not fit into the queue, and what stderr does not take, is dropped and counted.
#ifndef WARPFOLD_SERVER_OBSERVE_LOG_LOG_H_
#define WARPFOLD_SERVER_OBSERVE_LOG_LOG_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/observe/log/descriptor_sink.h"
#include "spdlog/async_logger.h"
#include "spdlog/details/thread_pool.h"

namespace warpfold {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// The standard one and Abseil's, which newer Abseils make the same.
template <typename T>
concept AnyStringView = std::same_as<T, std::string_view> || std::same_as<T, absl::string_view>;

// A text, which is quoted and must outlive the call, or a whole number, which is not quoted.
class LogValue {
 public:
  // Implicit: a field is written {"name", value}.
  // NOLINTBEGIN(google-explicit-constructor)
  LogValue(const char* text) : text_(text) {}
  LogValue(const std::string& text) : text_(text) {}
  template <AnyStringView View>
  LogValue(View text) : text_(text.data(), text.size()) {}
  template <std::integral T>
  LogValue(T number) : number_(static_cast<std::int64_t>(number)) {}
  // NOLINTEND(google-explicit-constructor)

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

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  int queue_lines = 8192;  // that wait for the log's thread; more push out the oldest
};

class Log {
 public:
  // Writes to stderr.
  explicit Log(const LogOptions& options);
  // Writes to `sink`; for tests.
  Log(const LogOptions& options, spdlog::sink_ptr sink);
  // Writes what waits.
  ~Log() = default;

  // From now on.
  void SetLevel(LogLevel level);
  // True when a line of `level` is written at all: ask before building an expensive message.
  bool Writes(LogLevel level) const;
  // Queues a line; never waits for whoever reads it.
  void Write(LogLevel level, std::string_view message, absl::Span<const LogField> fields = {});

  // Lines that were lost: pushed out of the queue, not taken by stderr.
  std::uint64_t dropped_by_queue() const { return threads_->overrun_counter(); }
  std::uint64_t dropped_by_write() const { return stderr_ != nullptr ? stderr_->dropped() : 0; }

 private:
  const LogFormat format_;
  const spdlog::sink_ptr sink_;
  const DescriptorSink* const stderr_;  // sink_, when it is that
  // One thread. Its end waits until the queue is empty.
  const std::shared_ptr<spdlog::details::thread_pool> threads_;
  const std::shared_ptr<spdlog::async_logger>
      logger_;  // shared, as each queued line holds on to it
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_LOG_LOG_H_
