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

struct Served {
  absl::Status status;
  grpc::ByteBuffer response;
  int attempts = 1;
};

// Runs `attempt` (CallLimits -> CallReply) until it succeeds or its failure is final.
template <typename Attempt>
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

// The answer, checked against the request: what comes from the wire is believed only as far as it
// was asked.
absl::StatusOr<ReduceAnswer> ParseAnswer(grpc::ByteBuffer& response, const ReduceOptions& options) {
  v1::ReduceResponse message;
  if (absl::Status parsed = Parse(response, message); !parsed.ok()) return parsed;
  if (static_cast<std::size_t>(message.results_size()) != options.ops.size()) {
    return absl::InternalError(absl::StrCat("the server answered ", message.results_size(),
                                            " results to ", options.ops.size(), " ops"));
  }
  ReduceAnswer answer;
  for (int i = 0; i < message.results_size(); ++i) {
    v1::Result& from = *message.mutable_results(i);
    ReduceResult to{from.op(),
                    {from.tensor().dtype(),
                     {from.tensor().shape().begin(), from.tensor().shape().end()},
                     std::move(*from.mutable_data())}};
    const absl::StatusOr<std::int64_t> bytes = TensorBytes(to.tensor.dtype, to.tensor.shape);
    if (to.op != options.ops[i] || !bytes.ok() ||
        static_cast<std::size_t>(*bytes) != to.tensor.data.size()) {
      return absl::InternalError(
          absl::StrCat("the server's result ", i, " (", Name(to.op), ", ", Name(to.tensor.dtype),
                       " ", ShapeText(to.tensor.shape), ", ", to.tensor.data.size(),
                       " bytes) is not one to ", Name(options.ops[i])));
    }
    answer.results.push_back(std::move(to));
  }
  answer.timing = std::move(*message.mutable_timing());
  answer.device = std::move(*message.mutable_device());
  return answer;
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
  Served served =
      CallWithRetries(options_.retry, target_, options_.timeout, {}, [&](const CallLimits& limits) {
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

absl::StatusOr<ReduceAnswer> Client::Reduce(const TensorView& tensor,
                                            const ReduceOptions& options) {
  const absl::StatusOr<std::int64_t> bytes = TensorBytes(tensor.dtype, tensor.shape);
  if (!bytes.ok()) return bytes.status();
  if (static_cast<std::size_t>(*bytes) != tensor.data.size()) {
    return absl::InvalidArgumentError(absl::StrCat("data: ", tensor.data.size(), " bytes, but ",
                                                   Name(tensor.dtype), " ", ShapeText(tensor.shape),
                                                   " is ", *bytes));
  }
  const v1::ReduceRequest request = RequestWithoutSource(tensor, options);
  const std::string head = ReduceRequestHead(request, tensor.data.size());
  const bool by_stream = TravelsByStream(head.size(), tensor.data.size());
  const std::string stream_header = by_stream ? StreamHeaderMessage(request) : std::string();

  Served served = CallWithRetries(
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
  if (!served.status.ok()) return served.status;
  absl::StatusOr<ReduceAnswer> answer = ParseAnswer(served.response, options);
  if (answer.ok()) answer->attempts = served.attempts;
  return answer;
}

}  // namespace warpfold::client
