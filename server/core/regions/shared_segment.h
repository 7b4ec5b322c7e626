// A part of a POSIX shared memory segment that a client made: found, checked and open.
//
// Step of a request: 2, decide; a worker's thread reads. The client may truncate its segment at any
// time, and a mapping would then kill whoever touches it. So nothing here maps: bytes are read and
// written by calls of the system, which come back short instead. docs/shared_memory.md has the
// reasons.
//
// Safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_REGIONS_SHARED_SEGMENT_H_
#define WARPFOLD_SERVER_CORE_REGIONS_SHARED_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace warpfold {

class SharedSegment {
 public:
  // The `size_bytes` > 0 from `offset_bytes` on of the segment `key`, as for shm_open, whose name
  // has to begin with `prefix`; both with their '/' or without. INVALID_ARGUMENT `key`,
  // `offset_bytes`, `size_bytes`; PERMISSION_DENIED, NOT_FOUND, RESOURCE_EXHAUSTED `key`.
  static absl::StatusOr<SharedSegment> Open(absl::string_view key, absl::string_view prefix,
                                            std::int64_t offset_bytes, std::int64_t size_bytes);

  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept { *this = std::move(other); }
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  // OK, or FAILED_PRECONDITION: the segment has become smaller than this part of it.
  absl::Status CheckSize() const;

  // Fills `out` with what is at `at_bytes` of this part. FAILED_PRECONDITION as above.
  absl::Status Read(std::int64_t at_bytes, absl::Span<std::byte> out) const;

  // Puts `bytes` at `at_bytes` of this part. FAILED_PRECONDITION: it has become smaller, or the
  // system has no memory for it; some of the bytes may be there. REQUIRES: is_writable().
  absl::Status Write(std::int64_t at_bytes, absl::string_view bytes) const;

  int descriptor() const { return descriptor_; }
  bool is_writable() const { return is_writable_; }
  const std::string& key() const { return key_; }
  std::int64_t offset_bytes() const { return offset_bytes_; }
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  std::string key_;  // with its '/'
  int descriptor_ = -1;
  bool is_writable_ = false;
  std::int64_t offset_bytes_ = 0;
  std::int64_t size_bytes_ = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_REGIONS_SHARED_SEGMENT_H_
