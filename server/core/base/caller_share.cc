#include "server/core/base/caller_share.h"

#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

std::string Option(const Shared& of) {
  return *of.option == '\0' ? "" : absl::StrCat(" (--", of.option, ")");
}

std::string Quota(const Shared& of) {
  return absl::StrCat(" (", of.quota, " in the callers' file)");
}

std::string AsksFor(const Shared& of, std::int64_t more) {
  return absl::StrCat(", and asks for ", more, " more; ", of.freed_by);
}

}  // namespace

// Source: dynamic queue thresholds (A. Choudhury, E. Hahne, IEEE/ACM Transactions on Networking 6,
// 1998).
bool IsBeyondShare(const SharedUse& use, std::int64_t more) {
  return use.held > 0 && use.held + more > use.max - use.held_by_all - more;
}

absl::Status CheckFitsQuota(const Shared& of, const std::optional<std::int64_t>& quota,
                            std::int64_t more) {
  if (!quota.has_value() || more <= *quota) return absl::OkStatus();
  return RefusalStatus(
      NeverFits{},
      absl::StrCat(more, " ", of.name, " are above the caller's quota of ", *quota, Quota(of)));
}

absl::Status CheckShare(const Shared& of, const SharedUse& use, std::int64_t more,
                        const RetryLater& later) {
  if (use.quota.has_value()) {
    if (use.held + more <= *use.quota) return absl::OkStatus();
    return RefusalStatus(
        later, absl::StrCat("the caller holds its quota of ", of.name, Quota(of), ": it has ",
                            use.held, " of ", *use.quota, AsksFor(of, more)));
  }
  if (!IsBeyondShare(use, more)) return absl::OkStatus();
  return RefusalStatus(later, absl::StrCat("the caller holds its share of ", of.name, Option(of),
                                           ": it has ", use.held, ", all callers ", use.held_by_all,
                                           " of ", use.max, AsksFor(of, more)));
}

Holding Holdings::Of(const std::string& owner) const {
  const auto found = by_owner_.find(owner);
  return found == by_owner_.end() ? Holding() : found->second;
}

void Holdings::Add(const std::string& owner, std::int64_t bytes) {
  by_owner_[owner] += {1, bytes};
  all_ += {1, bytes};
}

void Holdings::Remove(const std::string& owner, std::int64_t bytes) {
  const auto found = by_owner_.find(owner);
  found->second -= {1, bytes};
  if (found->second.count == 0) by_owner_.erase(found);
  all_ -= {1, bytes};
}

}  // namespace warpfold
