#include "client/cpp/cli/pipe.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace warpfold::client {
namespace {

// Linux' limit for users without privileges; its default of 64 KiB is a switch of processes each.
constexpr int kPipeBytes = 1 << 20;
constexpr std::int64_t kSkippedBytes = 1 << 20;

absl::StatusOr<std::size_t> ReadFull(int fd, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = read(fd, into.data() + done, into.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "cannot be read");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace

Pipe::Pipe(UniqueFd fd) : fd_(std::move(fd)) {
  fcntl(fd_.get(), F_SETPIPE_SZ, kPipeBytes);  // its failure costs time and nothing else
}

absl::StatusOr<std::size_t> Pipe::Read(std::span<std::byte> into) {
  const std::size_t before = std::min(peeked_.size(), into.size());
  if (before > 0) std::memcpy(into.data(), peeked_.data(), before);
  peeked_.erase(0, before);
  const absl::StatusOr<std::size_t> rest = ReadFull(fd_.get(), into.subspan(before));
  if (!rest.ok()) return rest.status();
  return before + *rest;
}

absl::StatusOr<std::span<const std::byte>> Pipe::Peek(std::size_t bytes) {
  const std::size_t before = peeked_.size();
  if (bytes > before) {
    peeked_.resize(bytes);
    const absl::StatusOr<std::size_t> more =
        ReadFull(fd_.get(), std::as_writable_bytes(std::span(peeked_)).subspan(before));
    peeked_.resize(before + more.value_or(0));
    if (!more.ok()) return more.status();
  }
  return std::as_bytes(std::span(peeked_)).first(std::min(bytes, peeked_.size()));
}

absl::StatusOr<std::int64_t> Pipe::Skip(std::int64_t bytes) {
  std::vector<std::byte> away(static_cast<std::size_t>(std::min(bytes, kSkippedBytes)));
  std::int64_t done = 0;
  while (done < bytes) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes - done, kSkippedBytes));
    const absl::StatusOr<std::size_t> n = Read(std::span(away).first(wanted));
    if (!n.ok()) return n.status();
    done += static_cast<std::int64_t>(*n);
    if (*n < wanted) break;
  }
  return done;
}

}  // namespace warpfold::client
