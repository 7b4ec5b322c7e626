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

using std::chrono::system_clock;

// While one is there, silence counts.
class Waiting {
 public:
  explicit Waiting(Silence& silence) : silence_(silence) { silence_.Resume(); }
  ~Waiting() { silence_.Pause(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Silence& silence_;
};

absl::StatusOr<ReduceAnswer> ItemAnswerOf(v1::ReduceManyResponse& message,
                                          std::uint32_t required_numerics_version) {
  if (message.has_status() && message.status().code() != 0) {
    return WithRetryDelay(absl::Status(static_cast<absl::StatusCode>(message.status().code()),
                                       message.status().message()),
                          PushbackOf(message.status()));
  }
  if (absl::Status right = CheckNumerics(message.response().numerics_version(),
                                         required_numerics_version, "the answer is of");
      !right.ok()) {
    return right;
  }
  return ParseAnswer(std::move(*message.mutable_response()), /*attempts=*/1);
}

}  // namespace

ManyStream::ManyStream(std::shared_ptr<Connection> connection, std::chrono::milliseconds timeout,
                       const std::stop_token& stop, std::string target,
                       std::uint32_t required_numerics_version)
    : connection_(std::move(connection)),
      silence_(timeout),
      call_(std::make_unique<StreamCall>(*connection_, kReduceManyMethod,
                                         CallLimits{{}, stop, {}, &silence_})),
      target_(std::move(target)),
      required_numerics_version_(required_numerics_version) {
  silence_.Pause();
}

ManyStream::~ManyStream() = default;

absl::Status ManyStream::Send(const TensorView& tensor, const ReduceOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return whole;
  v1::ReduceRequest request = RequestWithoutTensor(options);
  request.set_required_numerics_version(required_numerics_version_);
  *request.add_sources()->mutable_tensor() = SpecOf(tensor);
  const std::string head = ReduceRequestHead(request, tensor.data.size());
  const Waiting waiting(silence_);
  if (call_->Write(CopyMessage(head, tensor.data), grpc::WriteOptions())) {
    silence_.Moved();
    ++unanswered_;
    return absl::OkStatus();
  }
  const grpc::Status& ended = call_->Finish();
  if (ended.ok()) return absl::FailedPreconditionError("the stream is closed");
  return ToAbslStatus(ended, target_, 1);
}

absl::StatusOr<std::optional<ManyAnswer>> ManyStream::Receive(system_clock::time_point until) {
  grpc::ByteBuffer bytes;
  std::optional<Waiting> waiting;
  if (unanswered_ > 0) waiting.emplace(silence_);
  if (!call_->Read(until, bytes)) {
    if (!call_->over()) return std::nullopt;
    const grpc::Status& ended = call_->Finish();
    if (ended.ok()) return absl::OutOfRangeError("every request has been answered");
    return ToAbslStatus(ended, target_, 1);
  }
  --unanswered_;
  v1::ReduceManyResponse message;
  if (absl::Status parsed = Parse(bytes, message); !parsed.ok()) return parsed;
  return ManyAnswer{message.request_id(), ItemAnswerOf(message, required_numerics_version_)};
}

absl::Status ManyStream::Close() {
  const Waiting waiting(silence_);
  call_->Close();
  return ToAbslStatus(call_->Finish(), target_, 1);
}

std::unique_ptr<ManyStream> Client::OpenMany(const ManyOptions& options) {
  return std::unique_ptr<ManyStream>(
      new ManyStream(connections_.first(), options.timeout.value_or(options_.timeout), options.stop,
                     target_, options_.required_numerics_version));
}

}  // namespace warpfold::client
