// What the log says of connections: how many there may be, and who is refused one.
#ifndef WARPFOLD_SERVER_CONNECTION_LOG_H_
#define WARPFOLD_SERVER_CONNECTION_LOG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/config.h"
#include "server/observe/log/line_rate.h"
#include "server/observe/log/log.h"

namespace warpfold {

// Safe from any thread.
class ConnectionLog {
 public:
  // Of those that are refused, so many a second at most.
  static constexpr std::int64_t kLinesPerS = 1;

  explicit ConnectionLog(Log& log) : log_(log) {}

  // How many there may be is not always what the option says.
  void SayMax(const Config& config);

  // As OnConnectionRefused (acceptor.h).
  void SayRefused(const std::string& peer, const absl::Status& why);

 private:
  Log& log_;
  LineRate lines_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CONNECTION_LOG_H_
