// From a caller's options to the contract's request, and from the contract's response to the
// caller's answer. What comes from the wire is believed only as far as it was asked.
//
// Thread safety: pure functions. Failure: INTERNAL, a fault of the server's.
#ifndef WARPFOLD_CLIENT_CPP_EXCHANGE_H_
#define WARPFOLD_CLIENT_CPP_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/call_with_retries.h"
#include "client/cpp/client.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::client {

// Everything but the tensor.
v1::ReduceRequest RequestWithoutTensor(const ReduceOptions& options);

// The same for the state of a part.
v1::ReduceRequest StateRequestWithoutTensor(const PartOfWhole& part, const ReduceOptions& options);

// FAILED_PRECONDITION: the answer has another numerics_version than the required one, of a server
// that does not know the demand. 0: any.
absl::StatusOr<v1::ReduceResponse> MessageOf(Served served, std::uint32_t required);
// The same of a version that `whose` names: "the answer is of".
absl::Status CheckNumerics(std::uint32_t version, std::uint32_t required, absl::string_view whose);

// Whether `message` has a result for each of `ops`, in their order.
absl::Status CheckOps(const v1::ReduceResponse& message, const std::vector<Op>& ops);

// Fails when a result's bytes are not as many as its dtype and shape say.
absl::StatusOr<ReduceAnswer> ParseAnswer(v1::ReduceResponse message, int attempts);

// FAILED_PRECONDITION: the answers came about by different rules (numerics_version), and are not
// parts of one.
absl::Status CheckOneNumerics(std::span<const v1::ReduceResponse> messages);

// CheckOps and ParseAnswer: what was served as the answer to `options`.
absl::StatusOr<ReduceAnswer> AnswerOf(Served served, const ReduceOptions& options,
                                      std::uint32_t required_numerics_version);

// Puts the results of `next` behind those of `whole`, along `dimension`.
absl::Status Append(const ReduceAnswer& next, std::size_t dimension, ReduceAnswer& whole);

// An OUT_OF_RANGE or DATA_LOSS that names an output element names `changed` of it.
absl::Status WithOutputElement(const absl::Status& status,
                               const std::function<std::int64_t(std::int64_t)>& changed);

// `status` of a stripe whose results begin at the whole's `first_result`. The server names an
// output element by its place among the results that it was asked for.
absl::Status OfWhole(const absl::Status& status, std::int64_t first_result);

absl::StatusOr<std::string> TakeState(v1::ReduceResponse message);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_EXCHANGE_H_
