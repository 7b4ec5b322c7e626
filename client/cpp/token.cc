#include "client/cpp/token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/small_file.h"

namespace warpfold::client {

absl::Status CheckToken(absl::string_view token) {
  if (std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a token is printable characters of ASCII without a blank, and this is not");
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (!text.ok()) return text.status();
  const absl::string_view token = absl::StripAsciiWhitespace(*text);
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": holds no token"));
  if (const absl::Status checked = CheckToken(token); !checked.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", checked.message()));
  }
  return std::string(token);
}

}  // namespace warpfold::client
