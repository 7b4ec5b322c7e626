#include "client/cpp/exchange.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/catalogue.h"
#include "client/cpp/message.h"

namespace warpfold::client {
namespace {

bool HasVariance(Op op) {
  const OpRow* row = RowOf(op);
  return row != nullptr && row->params == absl::string_view("variance");
}

// Whether the dimensions of its own are as many as the op has, as far as that is known.
bool HasItsDimensions(const ReduceResult& result) {
  const OpRow* row = RowOf(result.op);
  if (row != nullptr) return result.trailing_dims == row->trailing_dims;
  return result.trailing_dims >= 0 &&
         static_cast<std::size_t>(result.trailing_dims) <= result.tensor.shape.size();
}

}  // namespace

v1::ReduceRequest RequestWithoutTensor(const ReduceOptions& options) {
  v1::ReduceRequest request;
  request.set_request_id(options.request_id);
  for (const Op op : options.ops) {
    v1::OpSpec& spec = *request.add_ops();
    spec.set_op(op);
    if (HasVariance(op)) spec.mutable_variance()->set_correction(options.correction);
  }
  request.mutable_axes()->Assign(options.axes.begin(), options.axes.end());
  request.set_keepdims(options.keepdims);
  request.set_nan_policy(options.nan_policy);
  return request;
}

absl::StatusOr<ReduceAnswer> ParseAnswer(v1::ReduceResponse message, int attempts) {
  ReduceAnswer answer;
  answer.attempts = attempts;
  for (int i = 0; i < message.results_size(); ++i) {
    v1::Result& from = *message.mutable_results(i);
    ReduceResult to{from.spec().op(),
                    {from.tensor().dtype(),
                     {from.tensor().shape().begin(), from.tensor().shape().end()},
                     std::move(*from.mutable_data())},
                    from.trailing_dims()};
    const absl::StatusOr<std::int64_t> bytes = TensorBytes(to.tensor.dtype, to.tensor.shape);
    if (!bytes.ok() || static_cast<std::size_t>(*bytes) != to.tensor.data.size()) {
      return absl::InternalError(absl::StrCat(
          "the server's result ", i, " (", Name(to.op), ", ", Name(to.tensor.dtype), " ",
          ShapeText(to.tensor.shape), ", ", to.tensor.data.size(), " bytes) is not a tensor"));
    }
    if (!HasItsDimensions(to)) {
      return absl::InternalError(absl::StrCat(
          "the server's result ", i, " (", Name(to.op), " ", ShapeText(to.tensor.shape), ") has ",
          to.trailing_dims, " dimensions of its own, which the op does not have"));
    }
    answer.results.push_back(std::move(to));
  }
  answer.timing = std::move(*message.mutable_timing());
  answer.device = std::move(*message.mutable_device());
  answer.numerics_version = message.numerics_version();
  return answer;
}

v1::ReduceRequest StateRequestWithoutTensor(const PartOfWhole& part, const ReduceOptions& options) {
  v1::ReduceRequest request = RequestWithoutTensor(options);
  request.set_return_state(true);
  request.mutable_part()->mutable_whole_shape()->Assign(part.whole_shape.begin(),
                                                        part.whole_shape.end());
  request.mutable_part()->mutable_offset()->Assign(part.offset.begin(), part.offset.end());
  return request;
}

absl::Status CheckNumerics(std::uint32_t version, std::uint32_t required, absl::string_view whose) {
  if (required == 0 || version == required) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "required_numerics_version: ", required, " is asked for, but ", whose, " version ", version));
}

absl::StatusOr<v1::ReduceResponse> MessageOf(Served served, std::uint32_t required) {
  if (!served.status.ok()) return served.status;
  v1::ReduceResponse message;
  if (absl::Status parsed = Parse(served.response, message); !parsed.ok()) return parsed;
  if (absl::Status right = CheckNumerics(message.numerics_version(), required, "the answer is of");
      !right.ok())
    return right;
  return message;
}

absl::Status CheckOps(const v1::ReduceResponse& message, const std::vector<Op>& ops) {
  if (static_cast<std::size_t>(message.results_size()) != ops.size()) {
    return absl::InternalError(absl::StrCat("the server answered ", message.results_size(),
                                            " results to ", ops.size(), " ops"));
  }
  for (int i = 0; i < message.results_size(); ++i) {
    const Op asked = ops[static_cast<std::size_t>(i)];
    const Op answered = message.results(i).spec().op();
    if (answered != asked) {
      return absl::InternalError(absl::StrCat("the server's result ", i, " (", Name(answered),
                                              ") is not one to ", Name(asked)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOneNumerics(std::span<const v1::ReduceResponse> messages) {
  for (const v1::ReduceResponse& message : messages) {
    if (message.numerics_version() == messages[0].numerics_version()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the servers of the stripes have different rules for numbers, versions ",
                     messages[0].numerics_version(), " and ", message.numerics_version(),
                     ": use servers of one version, or demand one (required_numerics_version)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ReduceAnswer> AnswerOf(Served served, const ReduceOptions& options,
                                      std::uint32_t required_numerics_version) {
  const int attempts = served.attempts;
  absl::StatusOr<v1::ReduceResponse> message =
      MessageOf(std::move(served), required_numerics_version);
  if (!message.ok()) return message.status();
  if (absl::Status checked = CheckOps(*message, options.ops); !checked.ok()) return checked;
  return ParseAnswer(*std::move(message), attempts);
}

absl::Status Append(const ReduceAnswer& next, std::size_t dimension, ReduceAnswer& whole) {
  if (next.results.size() != whole.results.size()) {
    return absl::InternalError("the servers' results for the stripes do not fit each other");
  }
  for (std::size_t r = 0; r < whole.results.size(); ++r) {
    Tensor& to = whole.results[r].tensor;
    const Tensor& from = next.results[r].tensor;
    std::vector<std::int64_t> joined = from.shape;
    if (dimension < std::min(from.shape.size(), to.shape.size())) {
      joined[dimension] = to.shape[dimension];
    }
    if (from.dtype != to.dtype || joined != to.shape ||
        next.results[r].trailing_dims != whole.results[r].trailing_dims ||
        dimension + static_cast<std::size_t>(whole.results[r].trailing_dims) >= to.shape.size()) {
      return absl::InternalError("the servers' results for the stripes do not fit each other");
    }
    to.shape[dimension] += from.shape[dimension];
    to.data += from.data;
  }
  return absl::OkStatus();
}

absl::Status WithOutputElement(const absl::Status& status,
                               const std::function<std::int64_t(std::int64_t)>& changed) {
  constexpr absl::string_view kBeforeElement = "output element ";
  const absl::string_view message = status.message();
  const std::size_t found = message.find(kBeforeElement);
  const bool is_of_element = absl::IsOutOfRange(status) || absl::IsDataLoss(status);
  if (!is_of_element || found == absl::string_view::npos) return status;
  const std::size_t begin = found + kBeforeElement.size();
  const std::size_t end = std::min(message.find_first_not_of("0123456789", begin), message.size());
  std::int64_t element = 0;
  if (!absl::SimpleAtoi(message.substr(begin, end - begin), &element)) return status;
  return absl::Status(
      status.code(), absl::StrCat(message.substr(0, begin), changed(element), message.substr(end)));
}

absl::Status OfWhole(const absl::Status& status, std::int64_t first_result) {
  return WithOutputElement(status, [&](std::int64_t element) { return element + first_result; });
}

absl::StatusOr<std::string> TakeState(v1::ReduceResponse message) {
  if (message.state().empty()) return absl::InternalError("the server answered without a state");
  return std::move(*message.mutable_state());
}

}  // namespace warpfold::client
