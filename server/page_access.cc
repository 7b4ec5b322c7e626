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

const char* WhyNobody(const ShownIdentity& shown) {
  if (!shown.authorization.has_value()) {
    return shown.certificate_names.empty() ? "neither a token nor a certificate"
                                           : "no token, and the certificate is nobody's";
  }
  return BearerToken(*shown.authorization).has_value() ? "the token is nobody's"
                                                       : "the authorization is no bearer token";
}

}  // namespace

PageAccess PageGuard::AccessOf(const CallerTable& callers, const ShownIdentity& shown) {
  const Caller* caller = Identify(callers, shown);
  if (caller != nullptr && caller->scopes.Has(Scope::kMetrics)) return PageAccess::kGranted;
  if (lines_.Takes(kLinesPerS)) {
    log_.Write(LogLevel::kWarning, "metrics page refused",
               {{"peer", shown.peer},
                {"caller", caller != nullptr ? caller->name : std::string()},
                {"status", caller != nullptr ? "the scope metrics is missing" : WhyNobody(shown)}});
  }
  return caller != nullptr ? PageAccess::kForbidden : PageAccess::kUnauthenticated;
}

}  // namespace warpfold
