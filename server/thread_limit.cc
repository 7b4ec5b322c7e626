#include "server/thread_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace warpfold {
namespace {

std::string Remedy() {
  rlimit space{};
  getrlimit(RLIMIT_AS, &space);
  return absl::StrCat(
      "raise the limit (ulimit -u, TasksMax=, --pids-limit), or end other processes of this user",
      space.rlim_cur == RLIM_INFINITY
          ? ""
          : absl::StrCat(", or raise the limit of the address space, ", space.rlim_cur >> 20,
                         " MiB (ulimit -v), of which each thread takes its stack"));
}

}  // namespace

// gRPC: two executors, timers, the event engine and the threads that wait for events, of which it
// has as many as processors and twice as many; TBB: one a processor. An idle server has 18 with 4
// workers on 2 processors (CPU backend, 2026-11-25).
int ThreadsNeeded(int workers) {
  constexpr int kAlways = 16;
  constexpr int kPerProcessor = 4;
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return kAlways + kPerProcessor * processors + workers;
}

absl::Status TryThreads(int count) {
  absl::Notification tried;
  absl::Status status;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  try {
    while (threads.size() < static_cast<std::size_t>(count)) {
      threads.emplace_back([&tried] { tried.WaitForNotification(); });
    }
  } catch (const std::system_error& error) {
    status = absl::ResourceExhaustedError(
        absl::StrCat("threads: the system lets this process start ", threads.size(),
                     " more, and it needs ", count, ": ", error.code().message(), "; ", Remedy()));
  }
  tried.Notify();
  return status;
}

}  // namespace warpfold
