// The parameters of an op, as its OpSpec has them.
//
// Step of a request: 1, wire to domain. By reflection, so that an op's parameters are said in the
// contract and in its row of the catalogue (kernels/ops), and nowhere else. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_NATIVE_OP_PARAMS_H_
#define WARPFOLD_SERVER_FRONTEND_NATIVE_OP_PARAMS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "kernels/ops/op.h"

namespace warpfold {

// Of `ops[i]`, whose message is `spec` (a v1::OpSpec, or in tests one like it) and whose parameters
// are `known`, null for none: the values in the order of `known`, presets where the message says
// nothing. INVALID_ARGUMENT `ops[i].<name>...`: those of another op, an unknown one, or a value
// that is not finite.
absl::StatusOr<std::vector<double>> DecodeParams(std::int64_t i,
                                                 const google::protobuf::Message& spec,
                                                 const ParamSet* known);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_NATIVE_OP_PARAMS_H_
