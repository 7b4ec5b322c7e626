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

absl::StatusOr<ReduceAnswer> AnswerOf(Served served, const ReduceOptions& options) {
  if (!served.status.ok()) return served.status;
  absl::StatusOr<ReduceAnswer> answer = ParseAnswer(served.response, options);
  if (answer.ok()) answer->attempts = served.attempts;
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

absl::StatusOr<ReduceAnswer> Client::Reduce(const TensorView& tensor,
                                            const ReduceOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return whole;
  v1::ReduceRequest request = RequestWithoutTensor(options);
  *request.mutable_tensor() = SpecOf(tensor);
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
        if (reply.status.ok() && options.progress) {
          options.progress(static_cast<std::int64_t>(tensor.data.size()));
        }
        return reply;
      });
  return AnswerOf(std::move(served), options);
}

absl::StatusOr<ReduceAnswer> Client::ReduceResident(const std::string& tensor_id, bool consume,
                                                    const ReduceOptions& options) {
  v1::ReduceRequest request = RequestWithoutTensor(options);
  request.set_tensor_id(tensor_id);
  request.set_consume(consume);
  const std::string message = request.SerializeAsString();
  return AnswerOf(CallWithRetries(options_.retry, target_,
                                  options.timeout.value_or(options_.timeout), options.stop,
                                  [&](const CallLimits& limits) {
                                    return connection_.Unary(kReduceMethod, message, {}, limits);
                                  }),
                  options);
}

}  // namespace warpfold::client
