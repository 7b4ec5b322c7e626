#include "server/core/admission/connections.h"

#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "server/core/admission/peer_address.h"

namespace warpfold {

const Caller& Connection::As(const Caller& anonymous) {
  absl::MutexLock lock(&mutex_);
  if (!callers_.empty()) callers_.front().use->SetQuotas(anonymous.quotas);
  for (const Caller& known : callers_) {
    if (known.scopes == anonymous.scopes && known.quotas == anonymous.quotas) return known;
  }
  Caller caller = anonymous;
  caller.use =
      callers_.empty() ? std::make_shared<CallerUse>(anonymous.quotas) : callers_.front().use;
  return callers_.emplace_front(std::move(caller));
}

std::shared_ptr<Connection> Connections::Find(const Caller& caller,
                                              absl::FunctionRef<std::string()> peer,
                                              const std::shared_ptr<Connection>& at_address) {
  if (at_address != nullptr) return at_address;
  if (caller.name.empty()) return FindBy(peer(), /*is_callers=*/false);
  if (caller.name == kAnonymousCaller) return AtAddressOf(peer());
  return FindBy(caller.name, /*is_callers=*/true);
}

std::shared_ptr<Connection> Connections::AtAddressOf(absl::string_view peer) {
  return FindBy(absl::StrCat("@", AddressOf(peer)), /*is_callers=*/true);
}

std::shared_ptr<Connection> Connections::FindBy(const std::string& key, bool is_callers) {
  Shard& shard = shards_[absl::HashOf(key) % shards_.size()];
  absl::MutexLock lock(&shard.mutex);
  std::shared_ptr<Connection>& connection = shard.known[key].connection;
  if (connection == nullptr) connection = std::make_shared<Connection>(is_callers);
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
