// Abseil of a distribution is built with its assertions, and looks for cycles in the order in which
// mutexes are locked. In a build without assertions, as ours is for release, a mutex does not tell
// it of its end (Mutex::Dtor is empty then), so that the next one at its address is taken for the
// same, and two that were never locked together for a cycle: on Debian 13 a test of many short
// works was aborted by it under load.
//
// Programs switch it off for its time (server/main.cc); tests do where it is wrong.
#include "absl/synchronization/mutex.h"

#ifdef NDEBUG
namespace {
[[maybe_unused]] const bool is_off = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();
}  // namespace
#endif
