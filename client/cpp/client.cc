#include "client/cpp/client.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/call_with_retries.h"
#include "client/cpp/exchange.h"
#include "client/cpp/message.h"
#include "client/cpp/small_call.h"
#include "client/cpp/stripes.h"
#include "client/cpp/target.h"
#include "client/cpp/token.h"

namespace warpfold::client {

std::chrono::microseconds DefaultSpinMax() {
  constexpr unsigned int kProcessorsMin = 4;
  return std::chrono::milliseconds(std::thread::hardware_concurrency() < kProcessorsMin ? 0 : 5);
}

Client::Client(const std::string& target, const ClientOptions& options)
    : target_(target), options_(options), connections_(target, options.connection) {}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& target,
                                                        const ClientOptions& options) {
  if (absl::Status checked = CheckTarget(target); !checked.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("target: ", checked.message()));
  }
  if (absl::Status checked = CheckToken(options.connection.token); !checked.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("token: ", checked.message()));
  }
  if (options.chunk_bytes == 0) return absl::InvalidArgumentError("chunk_bytes: is 0");
  if (options.connections < 1) return absl::InvalidArgumentError("connections: is less than 1");
  if (options.stripe_bytes_min < 1) {
    return absl::InvalidArgumentError("stripe_bytes_min: is less than 1");
  }
  std::unique_ptr<Client> client(new Client(target, options));
  constexpr int kAttemptsToConnect = 5;
  int& attempts_max = client->options_.retry.attempts_max;
  if (attempts_max == 0) attempts_max = kAttemptsToConnect;
  client->options_.timeout = options.connect_timeout.value_or(options.timeout);
  absl::StatusOr<v1::GetServerInfoResponse> info = client->GetServerInfo();
  client->options_.timeout = options.timeout;
  if (!info.ok()) return info.status();
  attempts_max = options.retry.attempts_max;
  client->info_ = *std::move(info);
  return client;
}

absl::StatusOr<v1::GetServerInfoResponse> Client::GetServerInfo() {
  Served served =
      CallAnyServer(0, kGetServerInfoMethod, v1::GetServerInfoRequest().SerializeAsString(), {},
                    options_.timeout, {});
  if (!served.status.ok()) return served.status;
  v1::GetServerInfoResponse info;
  if (absl::Status parsed = Parse(served.response, info); !parsed.ok()) return parsed;
  return info;
}

Served Client::CallAnyServer(std::size_t index, const char* method, const std::string& head,
                             std::span<const std::byte> payload, std::chrono::milliseconds timeout,
                             const std::stop_token& stop) {
  if (head.size() + payload.size() > kSmallMessageBytesMax) {
    return CallWithRetries(options_.retry, target_, timeout, stop, [&](const CallLimits& limits) {
      return Noted(connections_.At(index)->Unary(method, head, payload, limits));
    });
  }
  SmallCall call(connections_);
  return CallWithRetries(options_.retry, target_, timeout, stop, [&](const CallLimits& limits) {
    return call.Try(method, head, payload, limits);
  });
}

CallReply Client::Noted(CallReply reply) {
  if (reply.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) connections_.ConnectAnew();
  return reply;
}

absl::Status Client::CallPlain(const char* method, const google::protobuf::MessageLite& request,
                               std::optional<std::chrono::milliseconds> timeout,
                               const std::stop_token& stop,
                               google::protobuf::MessageLite* response) {
  const std::string message = request.SerializeAsString();
  Served served = CallWithRetries(options_.retry, target_, timeout.value_or(options_.timeout), stop,
                                  [&](const CallLimits& limits) {
                                    return connections_.first()->Unary(method, message, {}, limits);
                                  });
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

Served Client::SendTensor(std::size_t connection, const TensorView& tensor,
                          v1::ReduceRequest request, const ReduceOptions& options) {
  *request.add_sources()->mutable_tensor() = SpecOf(tensor);
  request.set_required_numerics_version(options_.required_numerics_version);
  const std::string head = ReduceRequestHead(request, tensor.data.size());
  const std::chrono::milliseconds timeout = options.timeout.value_or(options_.timeout);
  if (TravelsByStream(head.size(), tensor.data.size())) {
    const std::string header = StreamHeaderMessage(request);
    return StreamWithRetries(options_.retry, target_, timeout, options.stop,
                             [&](const CallLimits& limits) {
                               return Noted(connections_.At(connection)
                                                ->Stream(kReduceStreamMethod, header, tensor.data,
                                                         ChunkBytes(), limits, options.progress));
                             });
  }
  Served served =
      CallAnyServer(connection, kReduceMethod, head, tensor.data, timeout, options.stop);
  if (served.status.ok() && options.progress) {
    options.progress(static_cast<std::int64_t>(tensor.data.size()));
  }
  return served;
}

Served Client::SendMerge(std::span<const std::string> states, bool return_state,
                         const MergeOptions& options) {
  v1::MergeRequest request;
  request.set_request_id(options.request_id);
  for (const std::string& state : states) request.add_states(state);
  request.set_return_state(return_state);
  request.set_required_numerics_version(options_.required_numerics_version);
  const std::string message = request.SerializeAsString();
  return CallAnyServer(0, kMergeMethod, message, {}, options.timeout.value_or(options_.timeout),
                       options.stop);
}

absl::StatusOr<ReduceAnswer> Client::Reduce(const TensorView& tensor,
                                            const ReduceOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return whole;
  const auto tensor_bytes = static_cast<std::int64_t>(tensor.data.size());
  if (options_.connections > 1 && tensor_bytes > options_.stripe_threshold_bytes) {
    const StripeLimits limits{options_.connections, options_.stripe_bytes_min,
                              info_.limits().max_message_bytes(),
                              info_.limits().max_result_bytes()};
    const std::optional<StripePlan> plan =
        PlanStripes(tensor, options.axes, options.ops, options.keepdims, limits);
    if (plan.has_value()) return ReduceInStripes(tensor, *plan, options);
  }
  return AnswerOf(SendTensor(0, tensor, RequestWithoutTensor(options), options), options,
                  options_.required_numerics_version);
}

std::future<absl::StatusOr<ReduceAnswer>> Client::ReduceAsync(TensorView tensor,
                                                              ReduceOptions options) {
  return std::async(std::launch::async,
                    [this, tensor = std::move(tensor), options = std::move(options)] {
                      return Reduce(tensor, options);
                    });
}

absl::StatusOr<std::string> Client::ReduceToState(const TensorView& tensor, const PartOfWhole& part,
                                                  const ReduceOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return whole;
  absl::StatusOr<v1::ReduceResponse> message =
      MessageOf(SendTensor(0, tensor, StateRequestWithoutTensor(part, options), options),
                options_.required_numerics_version);
  if (!message.ok()) return message.status();
  return TakeState(*std::move(message));
}

absl::StatusOr<ReduceAnswer> Client::Merge(std::span<const std::string> states,
                                           const MergeOptions& options) {
  Served served = SendMerge(states, /*return_state=*/false, options);
  const int attempts = served.attempts;
  absl::StatusOr<v1::ReduceResponse> message =
      MessageOf(std::move(served), options_.required_numerics_version);
  if (!message.ok()) return message.status();
  return ParseAnswer(*std::move(message), attempts);
}

absl::StatusOr<std::string> Client::MergeToState(std::span<const std::string> states,
                                                 const MergeOptions& options) {
  absl::StatusOr<v1::ReduceResponse> message = MessageOf(
      SendMerge(states, /*return_state=*/true, options), options_.required_numerics_version);
  if (!message.ok()) return message.status();
  return TakeState(*std::move(message));
}

absl::StatusOr<ReduceAnswer> Client::ReduceFrom(v1::ReduceRequest request,
                                                const ReduceOptions& options) {
  request.MergeFrom(RequestWithoutTensor(options));
  request.set_required_numerics_version(options_.required_numerics_version);
  const std::string message = request.SerializeAsString();
  return AnswerOf(CallWithRetries(options_.retry, target_,
                                  options.timeout.value_or(options_.timeout), options.stop,
                                  [&](CallLimits limits) {
                                    limits.spin_max = options_.spin_max;
                                    return connections_.first()->Unary(kReduceMethod, message, {},
                                                                       limits);
                                  }),
                  options, options_.required_numerics_version);
}

}  // namespace warpfold::client
