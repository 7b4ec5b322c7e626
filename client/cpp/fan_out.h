// Some pieces of work on a few threads: each takes the next piece when it is done with its last, so
// that a slow connection takes fewer of them.
//
// Thread safety: blocks its caller, who is one of the threads.
#ifndef WARPFOLD_CLIENT_CPP_FAN_OUT_H_
#define WARPFOLD_CLIENT_CPP_FAN_OUT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/connection.h"

namespace warpfold::client {

// One piece of work by one of the threads; a stop request asks it to end soon.
using PieceOfWork =
    std::function<absl::Status(int worker, std::size_t piece, const std::stop_token& stop)>;

// Does pieces 0 ... pieces - 1, in this order, by `workers` threads. The first failure, after which
// no further piece begins and those that run are stopped; CANCELLED, or what a piece makes of it,
// when `stop` was requested. REQUIRES: workers > 0.
absl::Status FanOut(int workers, std::size_t pieces, const std::stop_token& stop,
                    const PieceOfWork& work);

// The progress of pieces that move at the same time, as one number for the caller's callback, one
// call at a time.
class SharedProgress {
 public:
  // `callback` may be empty.
  SharedProgress(const ProgressCallback& callback, std::size_t pieces)
      : callback_(callback), sent_bytes_(pieces, 0) {}

  // The callback of one piece; this object outlives it.
  ProgressCallback Of(std::size_t piece);

 private:
  const ProgressCallback& callback_;
  std::mutex mutex_;
  std::vector<std::int64_t> sent_bytes_;  // under mutex_
  std::int64_t total_bytes_ = 0;          // under mutex_
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_FAN_OUT_H_
