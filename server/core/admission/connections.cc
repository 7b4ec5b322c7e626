#include "server/core/admission/connections.h"

#include "absl/hash/hash.h"

namespace warpfold {

std::shared_ptr<Connection> Connections::Find(const Caller& caller,
                                              absl::FunctionRef<std::string()> peer) {
  const bool is_known = !caller.name.empty() && caller.name != kAnonymousCaller;
  const std::string address = is_known ? "" : peer();
  const std::string& key = is_known ? caller.name : address;
  Shard& shard = shards_[absl::HashOf(key) % shards_.size()];
  absl::MutexLock lock(&shard.mutex);
  std::shared_ptr<Connection>& connection = shard.known[key].connection;
  if (connection == nullptr) connection = std::make_shared<Connection>(is_known);
  return connection;
}

void Connections::ForgetIdle() {
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    absl::erase_if(shard.known, [](auto& entry) {
      Known& known = entry.second;
      const bool is_idle = known.connection.use_count() == 1;  // nobody can find it meanwhile
      const bool goes = is_idle && known.was_idle;
      known.was_idle = is_idle;
      return goes;
    });
  }
}

std::int64_t Connections::count() const {
  std::int64_t count = 0;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    count += static_cast<std::int64_t>(shard.known.size());
  }
  return count;
}

}  // namespace warpfold
