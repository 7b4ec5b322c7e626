// A client of a load in the words of the Open Inference Protocol: ModelInfer with the tensor in
// raw_input_contents, for LoadPath::kInfer.
//
// It sends as Client does, the payload lent to gRPC and copied by nobody, so that its figures are
// the server's and the protocol's: what another client of the protocol takes beyond them is its
// own.
#ifndef WARPFOLD_CLIENT_CPP_LOAD_INFER_CLIENT_H_
#define WARPFOLD_CLIENT_CPP_LOAD_INFER_CLIENT_H_

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "client/cpp/load/load_client.h"

namespace warpfold::client {

// Asks whether the model is ready: the model of the op, or `describe` for several ops. NOT_FOUND
// when the server has none; UNIMPLEMENTED when it does not speak the protocol.
absl::StatusOr<std::unique_ptr<LoadClient>> MakeInferClient(const LoadOptions& options,
                                                            std::span<const std::byte> payload);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_LOAD_INFER_CLIENT_H_
