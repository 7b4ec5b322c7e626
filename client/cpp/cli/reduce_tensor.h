// Reduces a tensor as a file has it: in memory or from a pipe, in any layout (layout.h), in bounded
// memory.
//
// Thread safety: ReduceTensor runs threads of its own, which have ended when it returns. Failure:
// absl::Status, as Client::Reduce, the reader and ReversedOptions have it.
#ifndef WARPFOLD_CLIENT_CPP_CLI_REDUCE_TENSOR_H_
#define WARPFOLD_CLIENT_CPP_CLI_REDUCE_TENSOR_H_

#include <optional>

#include "absl/status/statusor.h"
#include "client/cpp/cli/block_reduce.h"
#include "client/cpp/cli/named_tensor.h"
#include "client/cpp/cli/tensor_reader.h"
#include "client/cpp/client.h"

namespace warpfold::client {

// As ReduceByBlocks, which says what `may_not_fit` is; a null `reader` means the view's data, of
// which what needs C order is gathered.
absl::StatusOr<BlockAnswer> ReduceTensor(Client& client, const NamedTensor& tensor,
                                         TensorReader* reader, const ReduceOptions& options,
                                         std::optional<Op> may_not_fit = std::nullopt);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_REDUCE_TENSOR_H_
