// A file's bytes, mapped read-only: a tensor of any size goes from the page cache to the socket
// without a copy of ours.
//
// Thread safety: immutable after Map. Failure: absl::Status naming the file; INVALID_ARGUMENT for
// what is not a regular file. A file that somebody
// shortens while it is mapped ends the process by SIGBUS when its missing part is read: that is the
// price of not copying it.
#ifndef WARPFOLD_CLIENT_CPP_CLI_MAPPED_FILE_H_
#define WARPFOLD_CLIENT_CPP_CLI_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace warpfold::client {

class UniqueMappedFile {
 public:
  // The regular file `fd`, from its first byte on, wherever it is read at. `name` is for messages.
  static absl::StatusOr<UniqueMappedFile> Map(int fd, const std::string& name);

  UniqueMappedFile(UniqueMappedFile&& other) noexcept;
  UniqueMappedFile& operator=(UniqueMappedFile&&) = delete;
  ~UniqueMappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit UniqueMappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_MAPPED_FILE_H_
