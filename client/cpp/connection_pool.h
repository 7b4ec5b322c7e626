// A client's connections to its target: one for most calls, more of them once a tensor is large
// enough to go over several at a time, and one for small calls (small_call.h).
//
// Thread safety: any number of threads. Who holds a connection keeps it; a call may go on by one
// that the pool has replaced.
#ifndef WARPFOLD_CLIENT_CPP_CONNECTION_POOL_H_
#define WARPFOLD_CLIENT_CPP_CONNECTION_POOL_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/connection.h"

namespace warpfold::client {

class ConnectionPool {
 public:
  ConnectionPool(const std::string& target, const ConnectionOptions& options)
      : target_(target), options_(options), small_options_(options) {
    const absl::MutexLock lock(&mutex_);
    ConnectSmall();
  }

  // Connection `index`, from 0 on, made when it is first asked for; it connects by its first call.
  std::shared_ptr<Connection> At(std::size_t index) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return AtLocked(index);
  }
  std::shared_ptr<Connection> first() { return At(0); }

  // The one for small calls; first() when servers are not to be asked whether they are there.
  std::shared_ptr<Connection> small() ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return small_ != nullptr ? small_ : AtLocked(0);
  }

  // From now on servers get `kLongerBy` times the time to say that they are there, by a new
  // connection, and are not asked at all when that comes to stalled_peer_timeout. Nothing when
  // `too_hasty` is small() no longer.
  void AskLessHastily(const Connection& too_hasty) ABSL_LOCKS_EXCLUDED(mutex_) {
    constexpr int kLongerBy = 4;
    const absl::MutexLock lock(&mutex_);
    if (small_.get() != &too_hasty) return;
    small_options_.ping_after *= kLongerBy;
    small_options_.ping_timeout *= kLongerBy;
    ConnectSmall();
  }

  // From now on no server is asked.
  void StopAsking() ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    small_.reset();
  }

  // A server may hang. Its connections stay and nobody asks by those of At, so calls that begin
  // from now on get new ones, and such a server none. Nothing within a second of the last time.
  void ConnectAnew() ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto now = std::chrono::steady_clock::now();
    const absl::MutexLock lock(&mutex_);
    if (now < anew_from_) return;
    anew_from_ = now + std::chrono::seconds(1);
    connections_.clear();
  }

 private:
  std::shared_ptr<Connection> AtLocked(std::size_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (connections_.size() <= index) {
      connections_.push_back(std::make_shared<Connection>(target_, options_));
    }
    return connections_[index];
  }

  void ConnectSmall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    small_.reset();
    if (small_options_.ping_after <= std::chrono::milliseconds(0) ||
        small_options_.ping_timeout >= options_.stalled_peer_timeout) {
      return;
    }
    small_ = std::make_shared<Connection>(target_, small_options_, ConnectionUse::kSmallCalls);
  }

  const std::string target_;
  const ConnectionOptions options_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point anew_from_ ABSL_GUARDED_BY(mutex_);
  ConnectionOptions small_options_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Connection> small_ ABSL_GUARDED_BY(mutex_);  // null: no server is asked
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CONNECTION_POOL_H_
