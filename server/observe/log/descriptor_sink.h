// Where log lines leave the process: a file descriptor that may be full, or that nobody reads.
//
// Step of a request: 4, report, on the log's own thread. A line that the descriptor does not take
// is dropped and counted, and the next ones are still tried: a full disk that has room again gets
// lines again. A pipe that nobody reads holds the thread up once, for kStallTimeout, until it moves
// again. One thread logs at a time.
#ifndef WARPFOLD_SERVER_OBSERVE_LOG_DESCRIPTOR_SINK_H_
#define WARPFOLD_SERVER_OBSERVE_LOG_DESCRIPTOR_SINK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "spdlog/details/null_mutex.h"
#include "spdlog/sinks/base_sink.h"

namespace warpfold {

class DescriptorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  static constexpr std::chrono::milliseconds kStallTimeout{1000};

  // `descriptor` stays the caller's.
  explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

  // Lines that were not written, or not to their end. Any thread.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}  // nothing is held back
  bool Write(std::string_view bytes);

  const int descriptor_;
  std::atomic<std::uint64_t> dropped_{0};
  bool stalled_ = false;  // the last wait was in vain: do not wait again
  bool torn_ = false;     // a line stopped half way: end it before the next
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_LOG_DESCRIPTOR_SINK_H_
