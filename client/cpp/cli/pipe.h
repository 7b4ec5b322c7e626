// Bytes that can be read once, from the first to the last: a pipe's, a socket's, a device's.
//
// Thread safety: none needed; whoever reads holds the turn (block_reduce.h). Failure: absl::Status
// without the name of what is read.
#ifndef WARPFOLD_CLIENT_CPP_CLI_PIPE_H_
#define WARPFOLD_CLIENT_CPP_CLI_PIPE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/cli/unique_fd.h"

namespace warpfold::client {

class Pipe {
 public:
  explicit Pipe(UniqueFd fd);

  // Reads `into` full; fewer bytes only at the end.
  absl::StatusOr<std::size_t> Read(std::span<std::byte> into);
  // The first bytes, of which Read gives the first again: `bytes` of them, fewer only if there are
  // no more. REQUIRES: before Read, unless `bytes` is what is left of an earlier Peek.
  absl::StatusOr<std::span<const std::byte>> Peek(std::size_t bytes);
  // Reads the next `bytes` away, or all there are; how many that were.
  absl::StatusOr<std::int64_t> Skip(std::int64_t bytes);

 private:
  UniqueFd fd_;
  std::string peeked_;  // not yet read
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_PIPE_H_
