#include "client/cpp/stream_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace warpfold::client {

using std::chrono::steady_clock;
using std::chrono::system_clock;

StreamCall::StreamCall(Connection& connection, const char* method, const CallLimits& limits)
    : context_(limits, connection.authorization()), silence_(limits.silence) {
  context_.get()->set_initial_metadata_corked(true);  // travels with the first message
  stream_ = connection.stub().PrepareCall(context_.get(), method, scope_.queue());
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
    if (!NextUntil(until)) return false;
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

void StreamCall::Next() { NextUntil(system_clock::time_point::max()); }

bool StreamCall::NextUntil(system_clock::time_point until) {
  const bool is_limited = silence_ != nullptr && !silence_->is_paused() && !timed_out_;
  system_clock::time_point wake_at = until;
  if (is_limited) {
    const auto left = silence_->ends_at() - steady_clock::now();
    wake_at =
        std::min(until, system_clock::now() + std::chrono::ceil<system_clock::duration>(left));
  }
  bool ok = false;
  const std::optional<Tag> tag = scope_.NextUntil(wake_at, ok);
  if (tag.has_value()) {
    Handle(*tag, ok);
    return true;
  }
  if (is_limited && steady_clock::now() >= silence_->ends_at()) {  // the clocks may differ
    timed_out_ = true;
    context_.get()->TryCancel();
  }
  return wake_at < until;
}

void StreamCall::Handle(Tag tag, bool ok) {
  switch (tag) {
    case kStarted:
      break;
    case kRead:
      ended_ = !ok;
      if (!ok) break;
      if (silence_ != nullptr) silence_->Moved();
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
