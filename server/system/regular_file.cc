#include "server/system/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 20;

absl::Status Unreadable(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, " cannot be read: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::string> ReadRegularFile(const std::string& path) {
  // A pipe or a terminal is opened at once, and refused then.
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return Unreadable(path);
  const absl::Cleanup close_file = [file] { close(file); };
  struct stat about {};
  if (fstat(file, &about) != 0) return Unreadable(path);
  if (!S_ISREG(about.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no regular file"));
  }
  // One byte more than may be there, since the file may grow meanwhile.
  std::string text(kBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(file, text.data() + size, text.size() - size);
    if (count < 0) return Unreadable(path);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > kBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has more than 1 MiB"));
  }
  text.resize(size);
  return text;
}

}  // namespace warpfold
