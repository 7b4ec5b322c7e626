#include "server/page_access.h"

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace warpfold {
namespace {

// Null: nobody's.
const Caller* Identify(const CallerTable& callers, const ShownIdentity& shown) {
  for (const std::string& name : shown.certificate_names) {
    if (const Caller* caller = callers.OfCertificate(name); caller != nullptr) return caller;
  }
  if (!shown.authorization.has_value()) return callers.anonymous();
  const std::optional<absl::string_view> token = BearerToken(*shown.authorization);
  return token.has_value() ? callers.OfToken(*token) : nullptr;
}

}  // namespace

PageAccess AccessOf(const CallerTable& callers, const ShownIdentity& shown) {
  const Caller* caller = Identify(callers, shown);
  if (caller == nullptr) return PageAccess::kUnauthenticated;
  return caller->scopes.Has(Scope::kMetrics) ? PageAccess::kGranted : PageAccess::kForbidden;
}

}  // namespace warpfold
