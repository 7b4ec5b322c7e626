#include "client/cpp/small_file.h"

#include <cstddef>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace warpfold::client {

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  constexpr std::size_t kBytesMax = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kBytesMax + 1, '\0');
  // Not by an istreambuf_iterator, which throws where a folder cannot be read.
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has more than 1 MiB"));
  }
  return text;
}

}  // namespace warpfold::client
