// How long a call may go on without progress: the limit of whatever moves a payload of any size. A
// call that reports no progress has a deadline, and the same limit is that.
//
// Thread safety: belongs to the thread that makes the call.
#ifndef WARPFOLD_CLIENT_CPP_SILENCE_H_
#define WARPFOLD_CLIENT_CPP_SILENCE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace warpfold::client {

class Silence {
 public:
  explicit Silence(std::chrono::milliseconds max)
      : max_(max), since_(std::chrono::steady_clock::now()) {}

  // So many bytes of the payload have left in this attempt. What an attempt before had sent as well
  // is no progress: a call that fails again and again at the same place ends.
  void Sent(std::int64_t bytes) {
    if (bytes <= most_bytes_) return;
    most_bytes_ = bytes;
    Moved();
  }

  // A message has moved that is no part of such a payload.
  void Moved() { since_ = std::chrono::steady_clock::now(); }

  // What goes by before Resume() is not silence: nobody waits.
  void Pause() { paused_at_ = std::chrono::steady_clock::now(); }
  void Resume() {
    if (!is_paused()) return;
    since_ += std::chrono::steady_clock::now() - std::max(*paused_at_, since_);
    paused_at_.reset();
  }
  bool is_paused() const { return paused_at_.has_value(); }

  std::chrono::milliseconds max() const { return max_; }
  std::chrono::steady_clock::time_point ends_at() const { return since_ + max_; }

 private:
  const std::chrono::milliseconds max_;
  std::chrono::steady_clock::time_point since_;
  std::optional<std::chrono::steady_clock::time_point> paused_at_;
  std::int64_t most_bytes_ = 0;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_SILENCE_H_
