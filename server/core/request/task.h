// What a worker does for a request, as a value: its plan, its bytes, whether anybody still wants
// it, and whom to tell.
//
// Step of a request: 2, decide; the front end fills it in. No gRPC in here.
#ifndef WARPFOLD_SERVER_CORE_REQUEST_TASK_H_
#define WARPFOLD_SERVER_CORE_REQUEST_TASK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/part.h"
#include "kernels/plan.h"
#include "server/core/base/cancel_token.h"
#include "server/core/tensors/shard.h"
#include "server/device/executor.h"

namespace warpfold {

// Where workers' threads pull a request's bytes from, one thread at a time.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;

  // Whether the next `byte_count` bytes are here, and the end where they are the last: waits for
  // that until `until`. True as well when reading them would fail.
  virtual bool AwaitBytes(std::size_t /*byte_count*/,
                          std::chrono::steady_clock::time_point /*until*/) {
    return true;
  }
  // After AwaitBytes said false: `wake` is called, once, by whoever brings the last of them, with
  // no lock held, never inside. False, and it is not called: they are here.
  virtual bool WakeWhenHere(std::size_t /*byte_count*/, std::function<void()>&& /*wake*/) {
    return false;
  }

  // Fills all of `out` with the next bytes, copied once, straight from where they were received.
  // REQUIRES: AwaitBytes has said so. CANCELLED, DEADLINE_EXCEEDED (also when the client was silent
  // or slow for too long), INVALID_ARGUMENT (the client broke its promise).
  virtual absl::Status ReadInto(absl::Span<std::byte> out) = 0;

  // Where the next `byte_count` bytes lie, when the worker's device can read them there and they
  // stay until OnDone: they count as read then. Null: ReadInto has them.
  virtual const std::byte* InPlace(std::size_t /*byte_count*/) { return nullptr; }

  // Called once after the last byte: checks that nothing follows. Errors as above.
  virtual absl::Status ExpectEnd() = 0;
};

// What a worker of a device does.
struct ReducePayload {};  // reduces the bytes of the payload, by the plan
struct ReduceTensor {     // reduces, by the plan, a tensor that lies on the device
  const std::byte* data = nullptr;
};
struct WriteTensor {  // puts the bytes of the payload on the device; there is no plan
  std::byte* to = nullptr;
  std::int64_t size_bytes = 0;
};
struct RunOnHost {  // wants the worker's thread, and of its device nothing: no error says that it
                    // is lost
  std::function<absl::StatusOr<Outcome>()> run;
};
struct UseWorker {  // has the worker, which is idle before and after, to itself
  std::function<absl::StatusOr<Outcome>(Worker&)> run;
};
using Action = std::variant<ReducePayload, ReduceTensor, WriteTensor, RunOnHost, UseWorker>;

struct TaskReport {
  absl::StatusOr<Outcome> outcome = absl::UnknownError("not run");
  std::chrono::nanoseconds queue{0};    // waiting for a worker, each time
  std::chrono::nanoseconds receive{0};  // the rest, from the first turn to the last payload byte
  const DeviceInfo* device = nullptr;   // null when no device was asked
};

// Whose task it is: what the scheduler asks on the way, and whom it tells of the end.
class TaskOwner {
 public:
  virtual ~TaskOwner() = default;

  // Asked by Submit, once, of a task that needs a worker, perhaps with the scheduler's lock held:
  // RESOURCE_EXHAUSTED where too many do.
  virtual absl::Status MayQueue() { return absl::OkStatus(); }

  // Asked in each of its turns while it is still wanted; until then it has waited for workers for
  // `waited`, all in all: RESOURCE_EXHAUSTED where that is too long.
  virtual absl::Status MayRun(std::chrono::nanoseconds /*waited*/) { return absl::OkStatus(); }

  // The end: called once, by a worker's thread or the submitter's, with no lock held. The task, and
  // its owner, may be gone when it returns.
  virtual void OnDone(TaskReport report) = 0;
};

// Lent to the scheduler from Submit until OnDone, and unchanged meanwhile but for its token.
struct Task {
  // Wanted until `deadline`, and while the task of the token `parent` is, which outlives this one.
  // So does `task_owner`.
  explicit Task(TaskOwner& task_owner,
                CancelToken::Clock::time_point deadline = CancelToken::kNoDeadline,
                const CancelToken* parent = nullptr)
      : owner(task_owner), token(deadline, parent) {}

  TaskOwner& owner;

  // Why the answer is not wanted any more. Whoever cancels it takes the task back (Withdraw), or
  // it ends by itself: before its turn, and in it before each segment, its token is asked.
  CancelToken token;

  Action action;
  const Plan* plan = nullptr;        // of what reduces
  PayloadSource* payload = nullptr;  // of ReducePayload and WriteTensor

  // Tasks of one line wait in order, and lines take turns (worker_shares.h): a caller's.
  using Line = const void*;
  Line line = nullptr;

  // The one device that can do it, where its tensor lies; null: any.
  const DeviceInfo* device = nullptr;
  // Of a tensor that lies on several devices its shards, two or more: each is reduced, or written,
  // on its own device (split_run.h), of which `device` is the first; and all devices, for the
  // report. ReduceTensor and WriteTensor name no bytes then.
  absl::Span<const Shard> shards;
  const DeviceInfo* shard_devices = nullptr;

  // Its client is still sending: it leaves its worker when the next bytes are not here.
  bool waits_for_client = false;
  // OnDone may come inside Submit, its own and that of other small tasks that wait: the submitter
  // holds no lock that any OnDone needs.
  bool may_run_inline = false;
  // The submitter brings more as soon as Submit returns: it looks for no batch's end, and while the
  // device is idle another thread launches for it.
  bool is_pipelined_stream = false;
  // OnDone waits for a device: only a worker's thread calls it with an outcome that is OK.
  bool done_waits = false;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_REQUEST_TASK_H_
