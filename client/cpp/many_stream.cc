#include "client/cpp/many_stream.h"

#include <grpcpp/generic/generic_stub.h>

#include <deque>
#include <utility>

#include "client/cpp/call_scope.h"
#include "client/cpp/call_with_retries.h"
#include "client/cpp/exchange.h"
#include "client/cpp/message.h"

namespace warpfold::client {
namespace {

absl::StatusOr<ReduceAnswer> ItemAnswerOf(v1::ReduceManyResponse& message) {
  if (message.has_status() && message.status().code() != 0) {
    return absl::Status(static_cast<absl::StatusCode>(message.status().code()),
                        message.status().message());
  }
  return ParseAnswer(std::move(*message.mutable_response()), /*attempts=*/1);
}

}  // namespace

// The call under way: one write at a time, and always one read, until the server has ended it.
class ManyStream::Call {
 public:
  Call(grpc::GenericStub& stub, const CallLimits& limits) : context_(limits) {
    context_.get()->set_initial_metadata_corked(true);  // travels with the first message
    stream_ = stub.PrepareCall(context_.get(), kReduceManyMethod, scope_.queue());
    stream_->StartCall(AsTag(kStarted));  // corked: no event
    stream_->Read(&incoming_, AsTag(kRead));
  }

  ~Call() {
    context_.get()->TryCancel();
    Finish();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // False when the call is over.
  bool Write(const grpc::ByteBuffer& message) {
    if (ended_ || closed_) return false;
    stream_->Write(message, AsTag(kWritten));
    return AwaitWritten();
  }

  // The next message. False when none has come by `until`, or none ever will.
  bool Read(std::chrono::system_clock::time_point until, grpc::ByteBuffer& message) {
    while (inbox_.empty() && !ended_) {
      bool ok = false;
      const std::optional<Tag> tag = scope_.NextUntil(until, ok);
      if (!tag.has_value()) return false;
      Handle(*tag, ok);
    }
    if (inbox_.empty()) return false;
    message = inbox_.front();
    inbox_.pop_front();
    return true;
  }

  void Close() {
    if (closed_ || ended_) return;
    closed_ = true;
    stream_->WritesDone(AsTag(kWritten));
    AwaitWritten();
  }

  // Waits for the end of the call.
  const grpc::Status& Finish() {
    while (!ended_) Next();
    if (!finished_) stream_->Finish(&status_, AsTag(kFinished));
    while (!finished_) Next();
    return status_;
  }

  bool over() const { return ended_ && inbox_.empty(); }

 private:
  bool AwaitWritten() {
    written_.reset();
    while (!written_.has_value()) Next();
    return *written_;
  }

  void Next() {
    bool ok = false;
    const Tag tag = scope_.Next(ok);
    Handle(tag, ok);
  }

  void Handle(Tag tag, bool ok) {
    switch (tag) {
      case kStarted:
        break;
      case kRead:
        ended_ = !ok;
        if (!ok) break;
        inbox_.push_back(std::move(incoming_));
        incoming_.Clear();
        stream_->Read(&incoming_, AsTag(kRead));
        break;
      case kWritten:
        written_ = ok;
        break;
      case kFinished:
        finished_ = true;
        break;
    }
  }

  CallScope scope_;
  CallContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer incoming_;           // of the read under way
  std::deque<grpc::ByteBuffer> inbox_;  // read, and not yet received
  std::optional<bool> written_;
  bool closed_ = false;  // nothing more is sent
  bool ended_ = false;   // nothing more comes
  bool finished_ = false;
  grpc::Status status_;
};

ManyStream::ManyStream(std::unique_ptr<Call> call, std::string target)
    : call_(std::move(call)), target_(std::move(target)) {}

ManyStream::~ManyStream() = default;

absl::Status ManyStream::Send(const TensorView& tensor, const ReduceOptions& options) {
  if (absl::Status whole = CheckWhole(tensor); !whole.ok()) return whole;
  v1::ReduceRequest request = RequestWithoutTensor(options);
  *request.mutable_tensor() = SpecOf(tensor);
  const std::string head = ReduceRequestHead(request, tensor.data.size());
  if (call_->Write(CopyMessage(head, tensor.data))) return absl::OkStatus();
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
      new ManyStream(std::make_unique<ManyStream::Call>(connections_.first().stub(),
                                                        CallLimits{deadline, options.stop}),
                     target_));
}

}  // namespace warpfold::client
