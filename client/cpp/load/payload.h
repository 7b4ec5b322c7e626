// A tensor's bytes for a load test, of any size without the memory for it: a block of random
// elements, mapped again and again into consecutive addresses. Every server under test gets the
// same bytes from the same few pages.
//
// Thread safety: immutable. Failure: absl::Status when the kernel refuses the mappings.
#ifndef WARPFOLD_CLIENT_CPP_LOAD_PAYLOAD_H_
#define WARPFOLD_CLIENT_CPP_LOAD_PAYLOAD_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "client/cpp/tensor.h"

namespace warpfold::client {

class UniquePayload {
 public:
  // `bytes` bytes, repeating every kBlockBytes: floats in [0, 1), integers from 0 to 63, whose sums
  // fit their results, bools. REQUIRES: whole elements.
  static absl::StatusOr<UniquePayload> Make(DType dtype, std::size_t bytes);

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

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_LOAD_PAYLOAD_H_
