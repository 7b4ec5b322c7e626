// Whether the system lets this process have the threads that it needs (ulimit -u, a control
// group's pids).
//
// gRPC aborts where it gets none, and others throw where nobody can catch it: so it is tried first.
#ifndef WARPFOLD_SERVER_THREAD_LIMIT_H_
#define WARPFOLD_SERVER_THREAD_LIMIT_H_

#include "absl/status/status.h"

namespace warpfold {

// What a server with `workers`, of all devices together, runs once it serves, and some room.
int ThreadsNeeded(int workers);

// Starts `count` threads beside those that run, and ends them. RESOURCE_EXHAUSTED: how many it got,
// and what to raise.
absl::Status TryThreads(int count);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_THREAD_LIMIT_H_
