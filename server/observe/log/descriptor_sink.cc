#include "server/observe/log/descriptor_sink.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace warpfold {

void DescriptorSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  std::string_view line(formatted.data(), formatted.size());
  std::string ended;
  if (torn_) {
    ended.append("\n").append(line);
    line = ended;
  }
  if (!Write(line)) dropped_.fetch_add(1, std::memory_order_relaxed);
}

// In steps of PIPE_BUF: a pipe that poll calls writable takes that many without waiting.
bool DescriptorSink::Write(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    pollfd wanted{descriptor_, POLLOUT, 0};
    const int timeout_ms = stalled_ ? 0 : static_cast<int>(kStallTimeout.count());
    const int ready = poll(&wanted, 1, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    stalled_ = ready == 0;
    ssize_t count = -1;
    if (ready > 0) {
      count = write(descriptor_, bytes.data() + written,
                    std::min(bytes.size() - written, static_cast<std::size_t>(PIPE_BUF)));
      if (count < 0 && errno == EINTR) continue;
    }
    if (count < 0) {
      torn_ = torn_ || written > 0;
      return false;
    }
    written += static_cast<std::size_t>(count);
  }
  torn_ = false;
  return true;
}

}  // namespace warpfold
