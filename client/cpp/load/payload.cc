#include "client/cpp/load/payload.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "client/cpp/catalogue.h"

namespace warpfold::client {
namespace {

constexpr std::uint64_t kSeed = 20261121;

// The bits of a float of `dtype` in [0, 1); of an integer or a bool something small.
std::uint64_t RandomElement(DType dtype, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const DTypeRow* row = RowOf(dtype);
  // What a newer server's dtype means is its to say.
  if (row == nullptr) return bits & 63;
  switch (row->nature) {
    case Nature::kBool:
      return bits & 1;
    case Nature::kSigned:
    case Nature::kUnsigned:
      return bits & 63;
    case Nature::kFloat:
      break;
  }
  if (row->bytes == sizeof(double)) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(bits >> 11) * 0x1p-53);
  }
  if (row->bytes == sizeof(float)) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(bits >> 40) * 0x1p-24F);
  }
  // [0.5, 1): the exponent of a half, any fraction.
  const std::uint64_t half = (std::uint64_t{1} << (row->exponent_bits - 1)) - 2;
  return half << row->mantissa_bits | bits >> (64 - row->mantissa_bits);
}

void Fill(DType dtype, std::byte* data, std::size_t bytes) {
  std::mt19937_64 random(kSeed);
  const std::size_t element_bytes = ElementBytes(dtype);
  for (std::size_t at = 0; at + element_bytes <= bytes; at += element_bytes) {
    const std::uint64_t element = RandomElement(dtype, random);
    std::memcpy(data + at, &element, element_bytes);  // both are little-endian
  }
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

absl::StatusOr<UniquePayload> UniquePayload::Make(DType dtype, std::size_t bytes) {
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
  Fill(dtype, data, std::min(bytes, kBlockBytes));
  return UniquePayload({data, bytes}, mapped_bytes);
}

UniquePayload::UniquePayload(UniquePayload&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

UniquePayload::~UniquePayload() {
  if (mapped_bytes_ > 0) munmap(const_cast<std::byte*>(bytes_.data()), mapped_bytes_);
}

}  // namespace warpfold::client
