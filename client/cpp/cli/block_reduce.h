// Reduces a tensor of any size that can only be read from its first byte to its last, in bounded
// memory: block by block. The blocks are cut so that the answer has the bits of the whole
// (stripes.h), and each is tried again by itself, as any call.
//
// Thread safety: ReduceByBlocks runs threads of its own, which have ended when it returns. Failure:
// absl::Status, as Client::Reduce and the reader have it.
#ifndef WARPFOLD_CLIENT_CPP_CLI_BLOCK_REDUCE_H_
#define WARPFOLD_CLIENT_CPP_CLI_BLOCK_REDUCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/cli/tensor_reader.h"
#include "client/cpp/client.h"

namespace warpfold::client {

// A shape of this is one axis of all that comes.
inline constexpr std::int64_t kUnknownLength = -1;

// With the blocks in flight, and as much again in sockets' buffers, well below 256 MiB.
inline constexpr std::int64_t kBlockBytes = 16 << 20;

struct BlockAnswer {
  ReduceAnswer answer;
  std::vector<std::int64_t> shape;  // the tensor's, known now
  absl::Status left_out;            // why there is no answer of `may_not_fit`
};

// Reduces what `reader` has, which is of `shape`. When a result does not fit its dtype
// (OUT_OF_RANGE), the answer is without the op `may_not_fit`; the ops need what it needs
// (PartialState), as MEAN needs the SUM. INVALID_ARGUMENT, too, when no cut leaves blocks that are
// small beside the memory that they may take. A block has some `block_bytes`, a power of two of 64
// KiB or more.
absl::StatusOr<BlockAnswer> ReduceByBlocks(Client& client, DType dtype,
                                           const std::vector<std::int64_t>& shape,
                                           TensorReader& reader, const ReduceOptions& options,
                                           std::optional<Op> may_not_fit = std::nullopt,
                                           std::int64_t block_bytes = kBlockBytes);

// The same of a tensor in memory, by one call.
absl::StatusOr<BlockAnswer> ReduceAtOnce(Client& client, const TensorView& tensor,
                                         const ReduceOptions& options,
                                         std::optional<Op> may_not_fit = std::nullopt);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_BLOCK_REDUCE_H_
