#include "client/cpp/cli/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace warpfold::client {

absl::StatusOr<UniqueMappedFile> UniqueMappedFile::Map(int fd, const std::string& name) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, name);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": is not a regular file"));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return UniqueMappedFile({});
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, name);
  madvise(data, size, MADV_SEQUENTIAL);  // advice: its failure costs read-ahead and nothing else
  return UniqueMappedFile({static_cast<const std::byte*>(data), size});
}

UniqueMappedFile::UniqueMappedFile(UniqueMappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

UniqueMappedFile::~UniqueMappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace warpfold::client
