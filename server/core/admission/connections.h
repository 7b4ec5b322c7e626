// The clients' connections: what the calls of each hold of what all share. Those of a caller who
// shows a name are one, however many it opens.
//
// Step of a request: 1. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_CONNECTIONS_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_CONNECTIONS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "server/core/admission/open_calls.h"
#include "server/core/admission/read_line.h"
#include "server/core/base/caller.h"

namespace warpfold {

struct Connection {
  explicit Connection(bool is_callers) : line(is_callers), items(is_callers) {}

  OpenCalls::Share open_calls;
  ReadLine::Client line;   // of AdmissionController::read_line
  ReadLine::Client items;  // of item_line
};

class Connections {
 public:
  Connections() = default;
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // That of `caller`, who is at `peer`, an address with its port: the same for all its calls while
  // one of them has it, and for a while after. `peer` is asked where the caller shows no name, as
  // gRPC writes the address anew for each who asks.
  std::shared_ptr<Connection> Find(const Caller& caller, absl::FunctionRef<std::string()> peer);

  // Forgets those without a call that were so when it was last called: gRPC does not tell when a
  // connection ends.
  void ForgetIdle();

  // That it knows.
  std::int64_t count() const;

 private:
  struct Known {
    std::shared_ptr<Connection> connection;
    bool was_idle = false;
  };
  // Each with some of them, as every call asks.
  struct Shard {
    mutable absl::Mutex mutex;
    // By peer, or by a caller's name, which has no ':'.
    absl::flat_hash_map<std::string, Known> known ABSL_GUARDED_BY(mutex);
  };

  std::array<Shard, 16> shards_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_CONNECTIONS_H_
