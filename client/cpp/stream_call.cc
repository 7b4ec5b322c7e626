#include "client/cpp/stream_call.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace warpfold::client {

StreamCall::StreamCall(grpc::GenericStub& stub, const char* method, const CallLimits& limits)
    : context_(limits), silence_(limits.silence) {
  context_.get()->set_initial_metadata_corked(true);  // travels with the first message
  stream_ = stub.PrepareCall(context_.get(), method, scope_.queue());
  stream_->StartCall(AsTag(kStarted));  // corked: no event
  stream_->Read(&incoming_, AsTag(kRead));
}

StreamCall::~StreamCall() {
  if (!finished_) context_.get()->TryCancel();
  Finish();
}

bool StreamCall::Write(const grpc::ByteBuffer& message, const grpc::WriteOptions& options) {
  if (ended_ || closed_) return false;
  stream_->Write(message, options, AsTag(kWritten));
  return AwaitWritten();
}

bool StreamCall::Read(std::chrono::system_clock::time_point until, grpc::ByteBuffer& message) {
  while (inbox_.empty() && !ended_) {
    bool ok = false;
    const std::optional<Tag> tag = scope_.NextUntil(until, ok);
    if (!tag.has_value()) return false;
    Handle(*tag, ok);
  }
  if (inbox_.empty()) return false;
  message.Swap(&inbox_.front());
  inbox_.pop_front();
  return true;
}

void StreamCall::Close() {
  if (closed_ || ended_) return;
  closed_ = true;
  stream_->WritesDone(AsTag(kWritten));
  AwaitWritten();
}

const grpc::Status& StreamCall::Finish() {
  while (!ended_) Next();
  if (!finished_) stream_->Finish(&status_, AsTag(kFinished));
  while (!finished_) Next();
  if (timed_out_ && status_.error_code() == grpc::StatusCode::CANCELLED) {
    status_ = {grpc::StatusCode::DEADLINE_EXCEEDED,
               absl::StrCat("Deadline Exceeded: no progress for ", silence_->max().count(), " ms")};
  }
  return status_;
}

bool StreamCall::AwaitWritten() {
  written_.reset();
  while (!written_.has_value()) Next();
  return *written_;
}

void StreamCall::Next() {
  bool ok = false;
  if (silence_ == nullptr || timed_out_) {
    const Tag tag = scope_.Next(ok);
    Handle(tag, ok);
    return;
  }
  const auto left = silence_->ends_at() - std::chrono::steady_clock::now();
  const std::optional<Tag> tag =
      scope_.NextUntil(std::chrono::system_clock::now() +
                           std::chrono::ceil<std::chrono::system_clock::duration>(left),
                       ok);
  if (tag.has_value()) return Handle(*tag, ok);
  if (std::chrono::steady_clock::now() < silence_->ends_at()) return;  // the clocks differ
  timed_out_ = true;
  context_.get()->TryCancel();
}

void StreamCall::Handle(Tag tag, bool ok) {
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

}  // namespace warpfold::client
