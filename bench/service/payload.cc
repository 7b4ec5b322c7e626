#include "bench/service/payload.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "absl/status/status.h"

namespace warpfold::bench {
namespace {

constexpr std::uint64_t kSeed = 20261121;

void FillWithFloats(std::byte* data, std::size_t bytes) {
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  std::generate_n(reinterpret_cast<float*>(data), bytes / sizeof(float),
                  [&] { return uniform(random); });
}

// Maps `fd`'s block at every kBlockBytes of [base, base + bytes).
bool MapRepeatedly(int fd, std::byte* base, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += UniquePayload::kBlockBytes) {
    const void* mapped = mmap(base + at, UniquePayload::kBlockBytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, fd, 0);
    if (mapped == MAP_FAILED) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<UniquePayload> UniquePayload::Make(std::size_t bytes) {
  const std::size_t blocks = std::max<std::size_t>(1, (bytes + kBlockBytes - 1) / kBlockBytes);
  const std::size_t mapped_bytes = blocks * kBlockBytes;
  const int fd = memfd_create("warpfold-payload", MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  void* base = MAP_FAILED;
  bool mapped = ftruncate(fd, kBlockBytes) == 0;
  if (mapped) {
    base =
        mmap(nullptr, mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mapped = base != MAP_FAILED && MapRepeatedly(fd, static_cast<std::byte*>(base), mapped_bytes);
  }
  const int error = errno;
  close(fd);  // the mappings keep the memory
  if (!mapped) {
    if (base != MAP_FAILED) munmap(base, mapped_bytes);
    return absl::ErrnoToStatus(error, "mapping the payload");
  }
  auto* data = static_cast<std::byte*>(base);
  FillWithFloats(data, std::min(bytes, kBlockBytes));
  return UniquePayload({data, bytes}, mapped_bytes);
}

UniquePayload::UniquePayload(UniquePayload&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

UniquePayload::~UniquePayload() {
  if (mapped_bytes_ > 0) munmap(const_cast<std::byte*>(bytes_.data()), mapped_bytes_);
}

}  // namespace warpfold::bench
