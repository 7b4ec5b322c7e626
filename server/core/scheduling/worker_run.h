// One task's way over the workers of a device: its action (task.h), from a worker that is idle to a
// worker that is idle, in one turn or, where its client is slower than the worker, in several.
//
// Step of a request: 3, on a worker's thread.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_RUN_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_RUN_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/request/task.h"
#include "server/core/scheduling/stage.h"
#include "server/device/executor.h"

namespace warpfold {

// Belongs to one thread at a time. Destroying one that is not over drops what was begun.
class WorkerRun {
 public:
  using Clock = std::chrono::steady_clock;

  // Of `task`, which must outlive it and has waited for its first turn since `queued_since`.
  WorkerRun(Task& task, Clock::time_point queued_since) : task_(task), waits_since_(queued_since) {}

  // Before each turn but the first: since when it has waited for this one.
  void WaitsSince(Clock::time_point since) { waits_since_ = since; }

  // Begins, or goes on, on the idle `worker`, and leaves it idle. True: the task is over, and so is
  // the device with it. False: its next bytes were not here for as long as `patience` allows;
  // the payload tells when they are.
  bool Turn(Worker& worker, Patience patience);

  Task& task() const { return task_; }
  // REQUIRES: the last turn has said false. What the next one needs of the payload.
  std::size_t awaited_bytes() const { return awaited_bytes_; }
  // REQUIRES: the last turn has said true. Once. OnDone is the caller's.
  TaskReport TakeReport() { return std::move(report_); }

 private:
  // None: it waits for its client.
  using End = std::optional<absl::StatusOr<Outcome>>;

  End Run(Worker& worker, const ReducePayload& reduce, Patience patience);
  End Run(Worker& worker, const ReduceTensor& tensor, Patience patience);
  End Run(Worker& worker, const WriteTensor& write, Patience patience);
  End Run(Worker& worker, const RunOnHost& host, Patience patience);
  End Run(Worker& worker, const UseWorker& use, Patience patience);
  // Fills the worker with `bytes` of the payload, to its end. None: it waits for its client.
  std::optional<absl::Status> Receive(Worker& worker, std::int64_t bytes,
                                      absl::FunctionRef<absl::Status()> begin, Patience patience);

  Task& task_;
  Clock::time_point waits_since_;
  Clock::time_point start_{};  // of the first turn, later by what it has waited for others
  std::optional<Staging> staging_;
  std::size_t awaited_bytes_ = 0;
  TaskReport report_;
};

// Runs a `task` that waits for no client, in one turn.
inline TaskReport RunOnWorker(Worker& worker, Task& task,
                              WorkerRun::Clock::time_point queued_since) {
  WorkerRun run(task, queued_since);
  run.Turn(worker, Patience::kOthersWait);
  return run.TakeReport();
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_WORKER_RUN_H_
