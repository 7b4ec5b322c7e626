#include "server/core/base/caller.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

constexpr std::size_t kCallerNameBytesMax = 64;

bool IsOfName(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; }

}  // namespace

absl::Status CheckCallerName(absl::string_view name) {
  if (!name.empty() && name.size() <= kCallerNameBytesMax &&
      std::all_of(name.begin(), name.end(), IsOfName)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a name has 1 to ", kCallerNameBytesMax, " letters, digits, '.', '_' and '-'"));
}

const Caller& Everyone() {
  static const Caller everyone{.name = "", .scopes = ScopeSet::All()};
  return everyone;
}

const Caller& Nobody() {
  static const Caller nobody;
  return nobody;
}

bool Access::MayRead(const Caller& caller) const {
  return caller.name == owner ||
         std::any_of(readers.begin(), readers.end(), [&caller](const std::string& reader) {
           return reader == caller.name || reader == kAnyCaller;
         });
}

}  // namespace warpfold
