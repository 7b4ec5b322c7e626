#include "client/cpp/cli/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace warpfold::client {
namespace {

struct UniqueFd {
  int fd;
  ~UniqueFd() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

absl::StatusOr<UniqueMappedFile> UniqueMappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang before it is refused.
  const UniqueFd file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return absl::ErrnoToStatus(errno, path);
  struct stat info = {};
  if (fstat(file.fd, &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return UniqueMappedFile({});
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, path);
  madvise(data, size, MADV_SEQUENTIAL);  // advice: its failure costs read-ahead and nothing else
  return UniqueMappedFile({static_cast<const std::byte*>(data), size});
}

UniqueMappedFile::UniqueMappedFile(UniqueMappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

UniqueMappedFile::~UniqueMappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace warpfold::client
