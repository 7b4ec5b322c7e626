#include "client/cpp/client.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/call_with_retries.h"
#include "client/cpp/message.h"

namespace warpfold::client {
namespace {

v1::ReduceRequest RequestWithoutTensor(const ReduceOptions& options) {
  v1::ReduceRequest request;
  request.set_request_id(options.request_id);
  for (const Op op : options.ops) request.add_ops(op);
  request.mutable_axes()->Assign(options.axes.begin(), options.axes.end());
  request.set_keepdims(options.keepdims);
  return request;
}

// The answer, checked: what comes from the wire is believed only as far as it was asked.
absl::StatusOr<ReduceAnswer> ParseAnswer(v1::ReduceResponse message, int attempts) {
  ReduceAnswer answer;
  answer.attempts = attempts;
  for (int i = 0; i < message.results_size(); ++i) {
    v1::Result& from = *message.mutable_results(i);
    ReduceResult to{from.op(),
                    {from.tensor().dtype(),
                     {from.tensor().shape().begin(), from.tensor().shape().end()},
                     std::move(*from.mutable_data())}};
    const absl::StatusOr<std::int64_t> bytes = TensorBytes(to.tensor.dtype, to.tensor.shape);
    if (!bytes.ok() || static_cast<std::size_t>(*bytes) != to.tensor.data.size()) {
      return absl::InternalError(absl::StrCat(
          "the server's result ", i, " (", Name(to.op), ", ", Name(to.tensor.dtype), " ",
          ShapeText(to.tensor.shape), ", ", to.tensor.data.size(), " bytes) is not a tensor"));
    }
    answer.results.push_back(std::move(to));
  }
  answer.timing = std::move(*message.mutable_timing());
  answer.device = std::move(*message.mutable_device());
  return answer;
}

absl::Status CheckOps(const v1::ReduceResponse& message, const std::vector<Op>& ops) {
  if (static_cast<std::size_t>(message.results_size()) != ops.size()) {
    return absl::InternalError(absl::StrCat("the server answered ", message.results_size(),
                                            " results to ", ops.size(), " ops"));
  }
  for (int i = 0; i < message.results_size(); ++i) {
    const Op asked = ops[static_cast<std::size_t>(i)];
    if (message.results(i).op() != asked) {
      return absl::InternalError(absl::StrCat("the server's result ", i, " (",
                                              Name(message.results(i).op()), ") is not one to ",
                                              Name(asked)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TakeState(v1::ReduceResponse message) {
  if (message.state().empty()) return absl::InternalError("the server answered without a state");
  return std::move(*message.mutable_state());
}

absl::StatusOr<v1::ReduceResponse> MessageOf(Served served) {
  if (!served.status.ok()) return served.status;
  v1::ReduceResponse message;
  if (absl::Status parsed = Parse(served.response, message); !parsed.ok()) return parsed;
  return message;
}

absl::StatusOr<ReduceAnswer> AnswerOf(Served served, const ReduceOptions& options) {
  const int attempts = served.attempts;
  absl::StatusOr<v1::ReduceResponse> message = MessageOf(std::move(served));
  if (!message.ok()) return message.status();
  if (absl::Status checked = CheckOps(*message, options.ops); !checked.ok()) return checked;
  return ParseAnswer(*std::move(message), attempts);
}

}  // namespace

Client::Client(const std::string& target, const ClientOptions& options)
    : target_(target), options_(options), connection_(target, options.connection) {}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& target,
                                                        const ClientOptions& options) {
  if (options.chunk_bytes == 0) return absl::InvalidArgumentError("chunk_bytes: is 0");
  std::unique_ptr<Client> client(new Client(target, options));
  absl::StatusOr<v1::GetServerInfoResponse> info = client->GetServerInfo();
  if (!info.ok()) return info.status();
  client->info_ = *std::move(info);
  return client;
}

absl::StatusOr<v1::GetServerInfoResponse> Client::GetServerInfo() {
  v1::GetServerInfoResponse info;
  absl::Status status = CallPlain(kGetServerInfoMethod, v1::GetServerInfoRequest(), {}, {}, &info);
  if (!status.ok()) return status;
  return info;
}

absl::Status Client::CallPlain(const char* method, const google::protobuf::MessageLite& request,
                               std::optional<std::chrono::milliseconds> timeout,
                               const std::stop_token& stop,
                               google::protobuf::MessageLite* response) {
  const std::string message = request.SerializeAsString();
  Served served = CallWithRetries(
      options_.retry, target_, timeout.value_or(options_.timeout), stop,
      [&](const CallLimits& limits) { return connection_.Unary(method, message, {}, limits); });
  if (!served.status.ok()) return served.status;
  return Parse(served.response, *response);
}

bool Client::TravelsByStream(std::size_t head_bytes, std::size_t payload_bytes) const {
  const std::int64_t message_bytes_max = info_.limits().max_message_bytes();  // 0: it did not say
  const auto message_bytes = static_cast<std::int64_t>(head_bytes + payload_bytes);
  return static_cast<std::int64_t>(payload_bytes) > options_.stream_threshold_bytes ||
         (message_bytes_max > 0 && message_bytes > message_bytes_max);
}

std::size_t Client::ChunkBytes() const {
  const std::int64_t message_bytes_max = info_.limits().max_message_bytes();  // 0: it did not say
  if (message_bytes_max <= 0) return options_.chunk_bytes;
  return std::min(options_.chunk_bytes, static_cast<std::size_t>(message_bytes_max));
}

Served Client::SendTensor(const TensorView& tensor, v1::ReduceRequest request,
                          const ReduceOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return {whole, {}};
  *request.mutable_tensor() = SpecOf(tensor);
  const std::string head = ReduceRequestHead(request, tensor.data.size());
  const bool by_stream = TravelsByStream(head.size(), tensor.data.size());
  const std::string stream_header = by_stream ? StreamHeaderMessage(request) : std::string();
  return CallWithRetries(
      options_.retry, target_, options.timeout.value_or(options_.timeout), options.stop,
      [&](const CallLimits& limits) {
        if (by_stream) {
          return connection_.Stream(kReduceStreamMethod, stream_header, tensor.data, ChunkBytes(),
                                    limits, options.progress);
        }
        CallReply reply = connection_.Unary(kReduceMethod, head, tensor.data, limits);
        if (reply.status.ok() && options.progress) {
          options.progress(static_cast<std::int64_t>(tensor.data.size()));
        }
        return reply;
      });
}

Served Client::SendMerge(std::span<const std::string> states, bool return_state,
                         const MergeOptions& options) {
  v1::MergeRequest request;
  request.set_request_id(options.request_id);
  for (const std::string& state : states) request.add_states(state);
  request.set_return_state(return_state);
  const std::string message = request.SerializeAsString();
  return CallWithRetries(options_.retry, target_, options.timeout.value_or(options_.timeout),
                         options.stop, [&](const CallLimits& limits) {
                           return connection_.Unary(kMergeMethod, message, {}, limits);
                         });
}

absl::StatusOr<ReduceAnswer> Client::Reduce(const TensorView& tensor,
                                            const ReduceOptions& options) {
  return AnswerOf(SendTensor(tensor, RequestWithoutTensor(options), options), options);
}

absl::StatusOr<std::string> Client::ReduceToState(const TensorView& tensor, const PartOfWhole& part,
                                                  const ReduceOptions& options) {
  v1::ReduceRequest request = RequestWithoutTensor(options);
  request.set_return_state(true);
  request.mutable_part()->mutable_whole_shape()->Assign(part.whole_shape.begin(),
                                                        part.whole_shape.end());
  request.mutable_part()->set_offset(part.offset);
  absl::StatusOr<v1::ReduceResponse> message = MessageOf(SendTensor(tensor, request, options));
  if (!message.ok()) return message.status();
  return TakeState(*std::move(message));
}

absl::StatusOr<ReduceAnswer> Client::Merge(std::span<const std::string> states,
                                           const MergeOptions& options) {
  Served served = SendMerge(states, /*return_state=*/false, options);
  const int attempts = served.attempts;
  absl::StatusOr<v1::ReduceResponse> message = MessageOf(std::move(served));
  if (!message.ok()) return message.status();
  return ParseAnswer(*std::move(message), attempts);
}

absl::StatusOr<std::string> Client::MergeToState(std::span<const std::string> states,
                                                 const MergeOptions& options) {
  absl::StatusOr<v1::ReduceResponse> message =
      MessageOf(SendMerge(states, /*return_state=*/true, options));
  if (!message.ok()) return message.status();
  return TakeState(*std::move(message));
}

absl::StatusOr<ReduceAnswer> Client::ReduceFrom(v1::ReduceRequest request,
                                                const ReduceOptions& options) {
  request.MergeFrom(RequestWithoutTensor(options));
  const std::string message = request.SerializeAsString();
  return AnswerOf(CallWithRetries(options_.retry, target_,
                                  options.timeout.value_or(options_.timeout), options.stop,
                                  [&](const CallLimits& limits) {
                                    return connection_.Unary(kReduceMethod, message, {}, limits);
                                  }),
                  options);
}

}  // namespace warpfold::client
