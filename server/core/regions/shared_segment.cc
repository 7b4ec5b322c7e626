#include "server/core/regions/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kernels/field_error.h"

namespace warpfold {
namespace {

constexpr std::size_t kKeyBytesMax = 255;  // NAME_MAX, with the '/'

absl::Status Shrunk() {
  return FieldStatus(Field::kMemoryName, absl::FailedPreconditionError(
                                             "the segment has become smaller than the region"));
}

// "/name", which shm_open takes for a file right in its folder and nothing else.
absl::StatusOr<std::string> NameOf(absl::string_view key, absl::string_view prefix) {
  std::string name = absl::StrCat("/", absl::StripPrefix(key, "/"));
  if (name.size() < 2 || name.size() > kKeyBytesMax || name == "/." || name == "/.." ||
      name.find('/', 1) != std::string::npos || name.find('\0') != std::string::npos) {
    return InvalidField(Field::kKey, absl::StrCat("is not the name of a segment: '/', and up to ",
                                                  kKeyBytesMax - 1, " bytes without one"));
  }
  const std::string allowed = absl::StrCat("/", absl::StripPrefix(prefix, "/"));
  if (!absl::StartsWith(name, allowed)) {
    return FieldStatus(Field::kKey,
                       absl::PermissionDeniedError(absl::StrCat(
                           "the server takes segments whose names begin with ", allowed)));
  }
  return name;
}

absl::Status OpenError(int error) {
  const char* message = std::strerror(error);
  if (error == ENOENT) return FieldStatus(Field::kKey, absl::NotFoundError(message));
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    return FieldStatus(Field::kKey, absl::ResourceExhaustedError(message));
  }
  // EACCES; ELOOP, ENXIO ... of what is no segment
  return FieldStatus(Field::kKey, absl::PermissionDeniedError(message));
}

// The number of the file's bytes; -1 of what is no file.
std::int64_t SizeOf(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return -1;
  return file.st_size;
}

}  // namespace

absl::StatusOr<SharedSegment> SharedSegment::Open(absl::string_view key, absl::string_view prefix,
                                                  std::int64_t offset_bytes,
                                                  std::int64_t size_bytes) {
  absl::StatusOr<std::string> name = NameOf(key, prefix);
  if (!name.ok()) return name.status();
  SharedSegment segment;
  segment.key_ = *std::move(name);
  // O_NONBLOCK: of a pipe, which anybody may put there, reading alone waits for somebody to write.
  segment.descriptor_ = shm_open(segment.key_.c_str(), O_RDWR | O_NONBLOCK, 0);
  segment.is_writable_ = segment.descriptor_ >= 0;
  if (!segment.is_writable_ && (errno == EACCES || errno == EPERM)) {
    segment.descriptor_ = shm_open(segment.key_.c_str(), O_RDONLY | O_NONBLOCK, 0);
  }
  if (segment.descriptor_ < 0) return OpenError(errno);
  const std::int64_t bytes = SizeOf(segment.descriptor_);
  if (bytes < 0) {
    return FieldStatus(Field::kKey, absl::PermissionDeniedError("is no shared memory segment"));
  }
  if (offset_bytes < 0 || offset_bytes > bytes) {
    return InvalidField(Field::kOffsetBytes,
                        absl::StrCat(offset_bytes, " is outside the segment's ", bytes, " bytes"));
  }
  if (size_bytes < 1 || size_bytes > bytes - offset_bytes) {
    return InvalidField(Field::kSizeBytes,
                        absl::StrCat(size_bytes, " from offset ", offset_bytes,
                                     " on is empty or past the segment's ", bytes, " bytes"));
  }
  segment.offset_bytes_ = offset_bytes;
  segment.size_bytes_ = size_bytes;
  return segment;
}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  if (this == &other) return *this;
  if (descriptor_ >= 0) close(descriptor_);
  key_ = std::move(other.key_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  is_writable_ = other.is_writable_;
  offset_bytes_ = other.offset_bytes_;
  size_bytes_ = other.size_bytes_;
  return *this;
}

SharedSegment::~SharedSegment() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status SharedSegment::CheckSize() const {
  return SizeOf(descriptor_) >= offset_bytes_ + size_bytes_ ? absl::OkStatus() : Shrunk();
}

absl::Status SharedSegment::Read(std::int64_t at_bytes, absl::Span<std::byte> out) const {
  off_t at = offset_bytes_ + at_bytes;
  while (!out.empty()) {
    const ssize_t count = pread(descriptor_, out.data(), out.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Shrunk();
    out.remove_prefix(static_cast<std::size_t>(count));
    at += count;
  }
  return absl::OkStatus();
}

// A write past the end makes the segment grow: one that shrinks after the check gets these bytes
// back, and no more.
absl::Status SharedSegment::Write(std::int64_t at_bytes, absl::string_view bytes) const {
  if (absl::Status status = CheckSize(); !status.ok()) return status;
  off_t at = offset_bytes_ + at_bytes;
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_, bytes.data(), bytes.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return FieldStatus(Field::kMemoryName,
                         absl::FailedPreconditionError(
                             absl::StrCat("cannot write the segment: ", std::strerror(errno))));
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += count;
  }
  return absl::OkStatus();
}

}  // namespace warpfold
