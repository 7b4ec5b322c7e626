// A tensor's bytes for a load test, of any size without the memory for it: a block of random
// floats, mapped again and again into consecutive addresses. Every server under test gets the same
// bytes from the same few pages.
//
// Thread safety: immutable. Failure: absl::Status when the kernel refuses the mappings.
#ifndef WARPFOLD_BENCH_SERVICE_PAYLOAD_H_
#define WARPFOLD_BENCH_SERVICE_PAYLOAD_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

namespace warpfold::bench {

class UniquePayload {
 public:
  // `bytes` bytes of float32 in [0, 1), repeating every kBlockBytes.
  static absl::StatusOr<UniquePayload> Make(std::size_t bytes);

  UniquePayload(UniquePayload&& other) noexcept;
  UniquePayload& operator=(UniquePayload&&) = delete;
  ~UniquePayload();

  std::span<const std::byte> bytes() const { return bytes_; }

  static constexpr std::size_t kBlockBytes = std::size_t{64} << 20;

 private:
  UniquePayload(std::span<const std::byte> bytes, std::size_t mapped_bytes)
      : bytes_(bytes), mapped_bytes_(mapped_bytes) {}

  std::span<const std::byte> bytes_;
  std::size_t mapped_bytes_;
};

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_SERVICE_PAYLOAD_H_
