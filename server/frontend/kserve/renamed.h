// What the rest of the server says of fields of warpfold.v1, in the protocol's names. Pure
// functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_RENAMED_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_RENAMED_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace warpfold::kserve {

// `status`, its message starting with the second of the first of `names` whose first it started
// with; without what it carries then: a refusal that names a field never fits, as one without a
// kind. Longer names come first.
inline absl::Status Renamed(
    const absl::Status& status,
    absl::Span<const std::pair<absl::string_view, absl::string_view>> names) {
  const absl::string_view message = status.message();
  for (const auto& [ours, theirs] : names) {
    if (!absl::StartsWith(message, ours)) continue;
    return absl::Status(status.code(), absl::StrCat(theirs, message.substr(ours.size())));
  }
  return status;
}

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_RENAMED_H_
