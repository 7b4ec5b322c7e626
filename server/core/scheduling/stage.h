// A task's bytes on their way into a worker, over as many turns as its client takes to send them.
//
// Step of a request: 3, on a worker's thread.
#ifndef WARPFOLD_SERVER_CORE_SCHEDULING_STAGE_H_
#define WARPFOLD_SERVER_CORE_SCHEDULING_STAGE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/base/cancel_token.h"
#include "server/core/request/task.h"
#include "server/core/scheduling/patience.h"
#include "server/device/executor.h"

namespace warpfold {

class Staging {
 public:
  // Of `byte_count` bytes of `source`, for the task of `token`. Both references must outlive it.
  Staging(const CancelToken& token, PayloadSource& source, std::int64_t byte_count)
      : token_(token), source_(source), missing_bytes_(byte_count) {}

  // Begins on the idle `worker` by `begin`, or goes on where the last turn ended, one buffer at a
  // time; whether the task's answer is still wanted is asked before each. True: all bytes are in
  // the worker. False: the next ones were not here for as long as `patience` allows, and the worker
  // is idle. On an error, the worker's, the source's or why the task is not wanted, it is idle too.
  absl::StatusOr<bool> Turn(Worker& worker, absl::FunctionRef<absl::Status()> begin,
                            Patience patience);

  // REQUIRES: the last turn has said false. What the next one needs.
  std::size_t awaited_bytes() const { return awaited_bytes_; }

 private:
  absl::StatusOr<bool> Fill(Worker& worker, Patience patience);
  absl::Status StageNext(Worker& worker, absl::Span<std::byte> buffer);

  const CancelToken& token_;
  PayloadSource& source_;
  std::int64_t missing_bytes_;
  std::size_t awaited_bytes_ = 0;
  bool begun_ = false;
  std::unique_ptr<Suspended> suspended_;  // between two turns
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_SCHEDULING_STAGE_H_
