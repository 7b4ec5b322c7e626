// A client's connections to its target: one for most calls, more of them once a tensor is large
// enough to go over several at a time.
//
// Thread safety: any number of threads. A connection lives as long as the pool.
#ifndef WARPFOLD_CLIENT_CPP_CONNECTION_POOL_H_
#define WARPFOLD_CLIENT_CPP_CONNECTION_POOL_H_

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
      : target_(target), options_(options), first_(target, options) {}

  Connection& first() { return first_; }

  // Connection `index`, from 0 on, made when it is first asked for; it connects by its first call.
  Connection& At(std::size_t index) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (index == 0) return first_;
    const absl::MutexLock lock(&mutex_);
    while (others_.size() < index) {
      others_.push_back(std::make_unique<Connection>(target_, options_));
    }
    return *others_[index - 1];
  }

 private:
  const std::string target_;
  const ConnectionOptions options_;
  Connection first_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> others_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CONNECTION_POOL_H_
