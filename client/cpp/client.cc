#include "client/cpp/client.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/message.h"

namespace warpfold::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// The codes of gRPC and of absl::Status are the same numbers.
absl::Status ToAbslStatus(const grpc::Status& status, const std::string& target, int attempts) {
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    message = absl::StrCat(target, ": ", message);
  }
  if (attempts > 1) absl::StrAppend(&message, " (after ", attempts, " attempts)");
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), message);
}

// Waits for `delay`; false when a stop was requested meanwhile.
bool SleepUnlessStopped(milliseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, delay, [] { return false; });
  return !stop.stop_requested();
}

// Runs `attempt` (CallLimits -> CallReply) until it succeeds or its failure is final.
template <typename Served, typename Attempt>
Served CallWithRetries(const RetryPolicy& policy, const std::string& target, milliseconds timeout,
                       const std::stop_token& stop, const Attempt& attempt) {
  const auto give_up_at = steady_clock::now() + timeout;
  const auto time_left = [&] {
    return std::chrono::duration_cast<milliseconds>(give_up_at - steady_clock::now());
  };
  Retrier retrier(policy, std::random_device{}());
  while (true) {
    const CallReply reply = attempt(CallLimits{system_clock::now() + time_left(), stop});
    if (reply.status.ok()) {
      return {absl::OkStatus(), reply.response, retrier.attempts()};
    }
    const std::optional<milliseconds> delay =
        stop.stop_requested()
            ? std::nullopt
            : retrier.NextDelay(reply.status, PushbackOf(reply.status, reply.pushback_ms),
                                time_left());
    if (!delay.has_value()) {
      return {ToAbslStatus(reply.status, target, retrier.attempts()), {}, retrier.attempts()};
    }
    if (!SleepUnlessStopped(*delay, stop)) {
      return {absl::CancelledError("stopped while waiting to try again"), {}, retrier.attempts()};
    }
  }
}

v1::ReduceRequest RequestWithoutSource(const TensorView& tensor, const ReduceOptions& options) {
  v1::ReduceRequest request;
  request.set_request_id(options.request_id);
  request.mutable_tensor()->set_dtype(tensor.dtype);
  request.mutable_tensor()->mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
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

}  // namespace

struct Client::Served {
  absl::Status status;
  grpc::ByteBuffer response;
  int attempts = 1;

  absl::StatusOr<v1::ReduceResponse> Message() {
    if (!status.ok()) return status;
    v1::ReduceResponse message;
    if (absl::Status parsed = Parse(response, message); !parsed.ok()) return parsed;
    return message;
  }
};

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
  Served served = CallWithRetries<Served>(
      options_.retry, target_, options_.timeout, {}, [&](const CallLimits& limits) {
        return connection_.Unary(kGetServerInfoMethod, {}, {}, limits);
      });
  if (!served.status.ok()) return served.status;
  v1::GetServerInfoResponse info;
  if (absl::Status parsed = Parse(served.response, info); !parsed.ok()) return parsed;
  return info;
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

Client::Served Client::SendTensor(const TensorView& tensor, const v1::ReduceRequest& request,
                                  const ReduceOptions& options) {
  const absl::StatusOr<std::int64_t> bytes = TensorBytes(tensor.dtype, tensor.shape);
  if (!bytes.ok()) return {bytes.status(), {}};
  if (static_cast<std::size_t>(*bytes) != tensor.data.size()) {
    return {absl::InvalidArgumentError(absl::StrCat("data: ", tensor.data.size(), " bytes, but ",
                                                    Name(tensor.dtype), " ",
                                                    ShapeText(tensor.shape), " is ", *bytes)),
            {}};
  }
  const std::string head = ReduceRequestHead(request, tensor.data.size());
  const bool by_stream = TravelsByStream(head.size(), tensor.data.size());
  const std::string stream_header = by_stream ? StreamHeaderMessage(request) : std::string();

  return CallWithRetries<Served>(
      options_.retry, target_, options.timeout.value_or(options_.timeout), options.stop,
      [&](const CallLimits& limits) {
        if (by_stream) {
          return connection_.Stream(kReduceStreamMethod, stream_header, tensor.data, ChunkBytes(),
                                    limits, options.progress);
        }
        CallReply reply = connection_.Unary(kReduceMethod, head, tensor.data, limits);
        if (reply.status.ok() && options.progress) options.progress(*bytes);
        return reply;
      });
}

Client::Served Client::SendMerge(std::span<const std::string> states, bool return_state,
                                 const MergeOptions& options) {
  v1::MergeRequest request;
  request.set_request_id(options.request_id);
  for (const std::string& state : states) request.add_states(state);
  request.set_return_state(return_state);
  const std::string message = request.SerializeAsString();
  return CallWithRetries<Served>(options_.retry, target_,
                                 options.timeout.value_or(options_.timeout), options.stop,
                                 [&](const CallLimits& limits) {
                                   return connection_.Unary(kMergeMethod, message, {}, limits);
                                 });
}

absl::StatusOr<ReduceAnswer> Client::Reduce(const TensorView& tensor,
                                            const ReduceOptions& options) {
  Served served = SendTensor(tensor, RequestWithoutSource(tensor, options), options);
  absl::StatusOr<v1::ReduceResponse> message = served.Message();
  if (!message.ok()) return message.status();
  if (absl::Status checked = CheckOps(*message, options.ops); !checked.ok()) return checked;
  return ParseAnswer(*std::move(message), served.attempts);
}

absl::StatusOr<std::string> Client::ReduceToState(const TensorView& tensor, const PartOfWhole& part,
                                                  const ReduceOptions& options) {
  v1::ReduceRequest request = RequestWithoutSource(tensor, options);
  request.set_return_state(true);
  request.mutable_part()->mutable_whole_shape()->Assign(part.whole_shape.begin(),
                                                        part.whole_shape.end());
  request.mutable_part()->set_offset(part.offset);
  absl::StatusOr<v1::ReduceResponse> message = SendTensor(tensor, request, options).Message();
  if (!message.ok()) return message.status();
  return TakeState(*std::move(message));
}

absl::StatusOr<ReduceAnswer> Client::Merge(std::span<const std::string> states,
                                           const MergeOptions& options) {
  Served served = SendMerge(states, /*return_state=*/false, options);
  absl::StatusOr<v1::ReduceResponse> message = served.Message();
  if (!message.ok()) return message.status();
  return ParseAnswer(*std::move(message), served.attempts);
}

absl::StatusOr<std::string> Client::MergeToState(std::span<const std::string> states,
                                                 const MergeOptions& options) {
  absl::StatusOr<v1::ReduceResponse> message =
      SendMerge(states, /*return_state=*/true, options).Message();
  if (!message.ok()) return message.status();
  return TakeState(*std::move(message));
}

}  // namespace warpfold::client
