// What the scheduler knows of a request: its plan, its bytes, whether anybody still wants it, and
// whom to tell.
//
// Step of a request: 2, decide; the front end implements these for its methods. No gRPC in
// here.
#ifndef WARPFOLD_SERVER_CORE_WORK_H_
#define WARPFOLD_SERVER_CORE_WORK_H_

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
#include "server/core/cancel_token.h"
#include "server/core/shard.h"
#include "server/device/executor.h"

namespace warpfold {

// Where lanes' threads pull a request's bytes from, one thread at a time.
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

  // Where the next `byte_count` bytes lie, when the lane's device can read them there and they stay
  // until Done: they count as read then. Null: ReadInto has them.
  virtual const std::byte* InPlace(std::size_t /*byte_count*/) { return nullptr; }

  // Called once after the last byte: checks that nothing follows. Errors as above.
  virtual absl::Status ExpectEnd() = 0;
};

// What a lane does with a request.
struct ReducePayload {};  // reduces the bytes of payload(), by plan()
struct ReduceTensor {     // reduces, by plan(), a tensor that lies on the device
  const std::byte* data = nullptr;
};
struct WriteTensor {  // puts the bytes of payload() on the device; there is no plan
  std::byte* to = nullptr;
  std::int64_t size_bytes = 0;
};
struct RunOnHost {  // wants the lane's thread, and of its device nothing: no error says that it is
                    // lost
  std::function<absl::StatusOr<Outcome>()> run;
};
struct UseLane {  // does with the lane, which is idle before and after, as it likes
  std::function<absl::StatusOr<Outcome>(Lane&)> run;
};
using LaneTask = std::variant<ReducePayload, ReduceTensor, WriteTensor, RunOnHost, UseLane>;

// What several devices do with a request: on each its shards of one resident tensor.
struct ForOneDevice {};
struct ReduceShards {  // reduces, by plan(), the tensor that they are
  absl::Span<const Shard> shards;
  const DeviceInfo* devices = nullptr;  // all of them, for the report
};
struct WriteShards {  // puts the bytes of payload() on them, one after the other
  absl::Span<const Shard> shards;
};
using SplitTask = std::variant<ForOneDevice, ReduceShards, WriteShards>;

struct WorkReport {
  absl::StatusOr<Outcome> outcome = absl::UnknownError("not run");
  std::chrono::nanoseconds queue{0};    // waiting for a lane, each time
  std::chrono::nanoseconds receive{0};  // the rest, from the first lane to the last payload byte
  const DeviceInfo* device = nullptr;   // null when no device was asked
};

class Work {
 public:
  // Wanted until `deadline`, and while the work of the token `parent` is, which outlives this one.
  explicit Work(CancelToken::Clock::time_point deadline = CancelToken::kNoDeadline,
                const CancelToken* parent = nullptr)
      : token_(deadline, parent) {}
  virtual ~Work() = default;

  // Why the answer is not wanted any more. Whoever cancels it takes the work back (Withdraw), or
  // it ends by itself: before its turn, and in it before each piece, its token is asked.
  CancelToken& token() { return token_; }
  const CancelToken& token() const { return token_; }

  // Valid and unchanged from Submit until Done.
  virtual LaneTask task() { return ReducePayload{}; }
  // Another than ForOneDevice: then task() is not asked, and device() is that of the first shard.
  virtual SplitTask split_task() const { return ForOneDevice{}; }
  virtual const Plan& plan() const = 0;
  virtual PayloadSource& payload() = 0;

  // Works of one line wait in order, and lines take turns (lane_shares.h): a caller's.
  using Line = const void*;
  virtual Line line() const { return nullptr; }

  // The one device that can do it, where its tensor lies; null: any.
  virtual const DeviceInfo* device() const { return nullptr; }

  // Its client is still sending: it leaves its lane when the next bytes are not here.
  virtual bool waits_for_client() const = 0;

  // Done may come inside Submit, its own and that of other small works that wait: the submitter
  // holds no lock that any Done needs.
  virtual bool may_run_inline() const { return false; }
  // The submitter brings more as soon as Submit returns: it looks for no batch's end, and while the
  // device is idle another thread launches for it.
  virtual bool has_more_behind() const { return false; }

  // Done waits for a device: only a lane's thread calls it with an outcome that is OK.
  virtual bool done_waits() const { return false; }

  // Asked by Submit, once, of a work that needs a lane, perhaps with the scheduler's lock held:
  // RESOURCE_EXHAUSTED where too many do.
  virtual absl::Status MayQueue() { return absl::OkStatus(); }

  // Asked in each of its turns while it is still wanted; until then it has waited for lanes for
  // `waited`, all in all: RESOURCE_EXHAUSTED where that is too long.
  virtual absl::Status MayRun(std::chrono::nanoseconds /*waited*/) { return absl::OkStatus(); }

  // The end: called once, by a lane's thread or the submitter's, with no lock held. The work may
  // delete itself in here.
  virtual void Done(WorkReport report) = 0;

 private:
  CancelToken token_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_WORK_H_
