// Tells ThreadSanitizer what Abseil's locks order. Part of the server's tests in a
// -DWARPFOLD_SANITIZE=thread build only.
//
// The distribution's Abseil and gRPC are built without the sanitizer, which therefore sees neither
// absl::Mutex nor absl::Notification and would call everything that they guard a race. The
// functions below stand in front of the library's in the search order of the dynamic linker: each
// calls the real one and says what happens before what. gRPC's own locks are absl::Mutexes too, so
// that a hand-over from one of its threads to another is seen as well.
//
// Whoever lets go of an absl::Mutex asks the conditions of those who wait for it, on their stacks
// and with what it guards: reads that nothing here can order, so that they do not count.
//
// Nor is TBB built with the sanitizer, whose tasks go from thread to thread unseen: it has none of
// its own here.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstddef>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "oneapi/tbb/global_control.h"

// Of the sanitizer's runtime, in none of its headers.
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);

namespace {

const oneapi::tbb::global_control kNoWorkers(oneapi::tbb::global_control::max_allowed_parallelism,
                                             1);

// While the mutex is let go of.
class ReadsIgnored {
 public:
  ReadsIgnored() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~ReadsIgnored() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
  ReadsIgnored(const ReadsIgnored&) = delete;
  ReadsIgnored& operator=(const ReadsIgnored&) = delete;
};

// The next definition of `name` after this one: Abseil's.
template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Where absl::Notification keeps the flag that its inline functions read.
void* FlagOf(void* notification) {
  return static_cast<std::byte*>(notification) + sizeof(absl::Mutex);
}

}  // namespace

// Mangled names, because a member function cannot be defined a second time in C++.
#define WARPFOLD_ABSL(name) asm("_ZN4absl7debian3" name)
extern "C" {

void TsanMutexLock(void* mutex) WARPFOLD_ABSL("5Mutex4LockEv");
void TsanMutexLock(void* mutex) {
  static auto* const real = Real<void(void*)>("_ZN4absl7debian35Mutex4LockEv");
  real(mutex);
  __tsan_acquire(mutex);
}

void TsanMutexUnlock(void* mutex) WARPFOLD_ABSL("5Mutex6UnlockEv");
void TsanMutexUnlock(void* mutex) {
  static auto* const real = Real<void(void*)>("_ZN4absl7debian35Mutex6UnlockEv");
  __tsan_release(mutex);
  const ReadsIgnored ignored;
  real(mutex);
}

bool TsanMutexTryLock(void* mutex) WARPFOLD_ABSL("5Mutex7TryLockEv");
bool TsanMutexTryLock(void* mutex) {
  static auto* const real = Real<bool(void*)>("_ZN4absl7debian35Mutex7TryLockEv");
  const bool locked = real(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

void TsanMutexAwait(void* mutex, const void* condition)
    WARPFOLD_ABSL("5Mutex5AwaitERKNS0_9ConditionE");
void TsanMutexAwait(void* mutex, const void* condition) {
  static auto* const real =
      Real<void(void*, const void*)>("_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
  __tsan_release(mutex);
  {
    const ReadsIgnored ignored;
    real(mutex, condition);
  }
  __tsan_acquire(mutex);
}

void TsanCondVarWait(void* condition, void* mutex) WARPFOLD_ABSL("7CondVar4WaitEPNS0_5MutexE");
void TsanCondVarWait(void* condition, void* mutex) {
  static auto* const real = Real<void(void*, void*)>("_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  {
    const ReadsIgnored ignored;
    real(condition, mutex);
  }
  __tsan_acquire(mutex);
}

bool TsanCondVarWaitWithDeadline(void* condition, void* mutex, absl::Time deadline)
    WARPFOLD_ABSL("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
bool TsanCondVarWaitWithDeadline(void* condition, void* mutex, absl::Time deadline) {
  static auto* const real = Real<bool(void*, void*, absl::Time)>(
      "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  bool timed_out = false;
  {
    const ReadsIgnored ignored;
    timed_out = real(condition, mutex, deadline);
  }
  __tsan_acquire(mutex);
  return timed_out;
}

void TsanNotify(void* notification) WARPFOLD_ABSL("12Notification6NotifyEv");
void TsanNotify(void* notification) {
  static auto* const real = Real<void(void*)>("_ZN4absl7debian312Notification6NotifyEv");
  __tsan_release(FlagOf(notification));
  real(notification);
}

void TsanWaitForNotification(void* notification) asm(
    "_ZNK4absl7debian312Notification19WaitForNotificationEv");
void TsanWaitForNotification(void* notification) {
  static auto* const real =
      Real<void(void*)>("_ZNK4absl7debian312Notification19WaitForNotificationEv");
  real(notification);
  __tsan_acquire(FlagOf(notification));
}

}  // extern "C"
#undef WARPFOLD_ABSL
