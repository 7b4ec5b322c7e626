// The clients' connections: what the calls of each hold of what all share.
//
// Step of a request: 1. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_CONNECTIONS_H_
#define WARPFOLD_SERVER_CORE_CONNECTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/open_calls.h"
#include "server/core/read_line.h"

namespace warpfold {

struct Connection {
  OpenCalls::Share open_calls;
  ReadLine::Client line;
};

class Connections {
 public:
  Connections() = default;
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // That of the client at `peer`, an address with its port: the same for all its calls, while one
  // of them has it. Outlived by this.
  std::shared_ptr<Connection> Find(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

  // That have calls.
  std::int64_t count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Forget(const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_CONNECTIONS_H_
