#include "client/cpp/token.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace warpfold::client {

absl::Status CheckToken(absl::string_view token) {
  if (std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a token is printable characters of ASCII without a blank, and this is not");
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  const absl::string_view token = absl::StripAsciiWhitespace(text);
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": holds no token"));
  if (const absl::Status checked = CheckToken(token); !checked.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", checked.message()));
  }
  return std::string(token);
}

}  // namespace warpfold::client
