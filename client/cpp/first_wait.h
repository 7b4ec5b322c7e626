// Warms Abseil's mutexes up, once in a process, before their first wait can do harm.
//
// When first one of Abseil's mutexes has two threads that wait, Abseil asks for the processor's
// frequency: it opens a file that most machines do not have, which leaves ENOENT in errno, and
// measures for 3 ms. gRPC 1.51 looks at the errno of a connect() only after calls of its own, which
// take mutexes. Where one of those was that first wait, a connection under way counts as failed,
// "No such file or directory": one of some 10,000 (github.com/grpc/grpc/pull/35064 ends it).
// Retries get over it; this is for what calls by a bare stub, or gives a call one attempt.
//
// Thread safety: any thread. Failure: none.
#ifndef WARPFOLD_CLIENT_CPP_FIRST_WAIT_H_
#define WARPFOLD_CLIENT_CPP_FIRST_WAIT_H_

#include <thread>

#include "absl/synchronization/mutex.h"

namespace warpfold::client {

// Two threads wait for one mutex at the same time, and call `before` and `after` it, one by one.
template <typename Before, typename After>
void WaitByTwo(const Before& before, const After& after) {
  absl::Mutex mutex;
  int waiting = 0;
  const auto wait = [&] {
    absl::MutexLock lock(&mutex);
    ++waiting;
    before();
    mutex.Await(absl::Condition(
        +[](int* count) { return *count == 3; }, &waiting));
    after();
  };
  const std::jthread one(wait);
  const std::jthread two(wait);
  absl::MutexLock lock(&mutex);
  mutex.Await(absl::Condition(
      +[](int* count) { return *count == 2; }, &waiting));
  ++waiting;
}

// Call before gRPC connects.
inline void WarmUpMutexes() {
  [[maybe_unused]] static const bool waited = [] {
    WaitByTwo([] {}, [] {});
    return true;
  }();
}

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_FIRST_WAIT_H_
