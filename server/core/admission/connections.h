// The clients' connections: what the calls of each hold of what all share. Those of a caller who
// shows a name are one, however many it opens. Of callers who show none, where others do, those of
// an address (peer_address.h) are one.
//
// Step of a request: 1. Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_CONNECTIONS_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_CONNECTIONS_H_

#include <array>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/core/admission/open_calls.h"
#include "server/core/admission/read_line.h"
#include "server/core/base/caller.h"

namespace warpfold {

class Connection {
 public:
  explicit Connection(bool is_callers) : line(is_callers), items(is_callers) {}

  // Who calls from its address, a caller of its own: it may do, and hold, what `anonymous` of the
  // file of callers may. Valid as long as the connection.
  const Caller& As(const Caller& anonymous) ABSL_LOCKS_EXCLUDED(mutex_);

  OpenCalls::Share open_calls;
  ReadLine::Client line;   // of AdmissionController::read_line
  ReadLine::Client items;  // of item_line

 private:
  absl::Mutex mutex_;
  // One for each `anonymous` that differs, as calls that have begun have the older ones. All have
  // one use.
  std::forward_list<Caller> callers_ ABSL_GUARDED_BY(mutex_);
};

class Connections {
 public:
  Connections() = default;
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // That of `caller`, who is at `peer`, an address with its port: the same for all its calls while
  // one of them has it, and for a while after. `peer` is asked where the caller shows no name, as
  // gRPC writes the address anew for each who asks. `at_address`: what AtAddressOf has found
  // before.
  std::shared_ptr<Connection> Find(const Caller& caller, absl::FunctionRef<std::string()> peer,
                                   const std::shared_ptr<Connection>& at_address = nullptr);

  // That of the anonymous callers at the address of `peer`.
  std::shared_ptr<Connection> AtAddressOf(absl::string_view peer);

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
    // By peer, by a caller's name, which has no ':', or by '@' and an address.
    absl::flat_hash_map<std::string, Known> known ABSL_GUARDED_BY(mutex);
  };

  std::shared_ptr<Connection> FindBy(const std::string& key, bool is_callers);

  std::array<Shard, 16> shards_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_CONNECTIONS_H_
