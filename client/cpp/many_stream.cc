#include "client/cpp/many_stream.h"

#include <utility>

#include "client/cpp/call_scope.h"
#include "client/cpp/call_with_retries.h"
#include "client/cpp/exchange.h"
#include "client/cpp/message.h"
#include "client/cpp/retry.h"
#include "client/cpp/stream_call.h"

namespace warpfold::client {
namespace {

absl::StatusOr<ReduceAnswer> ItemAnswerOf(v1::ReduceManyResponse& message) {
  if (message.has_status() && message.status().code() != 0) {
    return WithRetryDelay(absl::Status(static_cast<absl::StatusCode>(message.status().code()),
                                       message.status().message()),
                          PushbackOf(message.status()));
  }
  return ParseAnswer(std::move(*message.mutable_response()), /*attempts=*/1);
}

}  // namespace

ManyStream::ManyStream(std::shared_ptr<Connection> connection, const CallLimits& limits,
                       std::string target)
    : connection_(std::move(connection)),
      call_(std::make_unique<StreamCall>(connection_->stub(), kReduceManyMethod, limits)),
      target_(std::move(target)) {}

ManyStream::~ManyStream() = default;

absl::Status ManyStream::Send(const TensorView& tensor, const ReduceOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return whole;
  v1::ReduceRequest request = RequestWithoutTensor(options);
  *request.mutable_tensor() = SpecOf(tensor);
  const std::string head = ReduceRequestHead(request, tensor.data.size());
  if (call_->Write(CopyMessage(head, tensor.data), grpc::WriteOptions())) return absl::OkStatus();
  const grpc::Status& ended = call_->Finish();
  if (ended.ok()) return absl::FailedPreconditionError("the stream is closed");
  return ToAbslStatus(ended, target_, 1);
}

absl::StatusOr<std::optional<ManyAnswer>> ManyStream::Receive(
    std::chrono::system_clock::time_point until) {
  grpc::ByteBuffer bytes;
  if (!call_->Read(until, bytes)) {
    if (!call_->over()) return std::nullopt;
    const grpc::Status& ended = call_->Finish();
    if (ended.ok()) return absl::OutOfRangeError("every request has been answered");
    return ToAbslStatus(ended, target_, 1);
  }
  v1::ReduceManyResponse message;
  if (absl::Status parsed = Parse(bytes, message); !parsed.ok()) return parsed;
  return ManyAnswer{message.request_id(), ItemAnswerOf(message)};
}

absl::Status ManyStream::Close() {
  call_->Close();
  return ToAbslStatus(call_->Finish(), target_, 1);
}

std::unique_ptr<ManyStream> Client::OpenMany(const ManyOptions& options) {
  const auto deadline =
      std::chrono::system_clock::now() + options.timeout.value_or(options_.timeout);
  return std::unique_ptr<ManyStream>(
      new ManyStream(connections_.first(), CallLimits{deadline, options.stop}, target_));
}

}  // namespace warpfold::client
