#include "server/core/connections.h"

#include <iterator>

namespace warpfold {

std::shared_ptr<Connection> Connections::Find(const std::string& peer) {
  absl::MutexLock lock(&mutex_);
  std::weak_ptr<Connection>& known = connections_[peer];
  std::shared_ptr<Connection> connection = known.lock();
  if (connection == nullptr) {
    connection = std::shared_ptr<Connection>(new Connection, [this, peer](Connection* last) {
      delete last;
      Forget(peer);
    });
    known = connection;
  }
  return connection;
}

void Connections::Forget(const std::string& peer) {
  absl::MutexLock lock(&mutex_);
  const auto found = connections_.find(peer);
  // Another call may have made it anew meanwhile.
  if (found != connections_.end() && found->second.expired()) connections_.erase(found);
}

std::int64_t Connections::count() const {
  absl::MutexLock lock(&mutex_);
  return std::ssize(connections_);
}

}  // namespace warpfold
