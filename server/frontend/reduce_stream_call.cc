#include "server/frontend/reduce_stream_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/frontend/encode.h"
#include "server/frontend/status.h"

namespace warpfold {

ReduceStreamCall::ReduceStreamCall(Services& services, grpc::CallbackServerContext* context,
                                   grpc::ByteBuffer* response)
    : Job(services, Method::kReduceStream, context->deadline()),
      context_(context),
      response_(response),
      record_(services.metrics, Method::kReduceStream),
      payload_(*this, ticket(), services.limits.Get().stream_idle_timeout, context->deadline()) {}

grpc::ServerReadReactor<grpc::ByteBuffer>* ReduceStreamCall::Begin(
    Services& services, grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  ReduceStreamCall* call = new ReduceStreamCall(services, context, response);
  call->header_alarm_.Set(
      std::chrono::system_clock::now() + services.limits.Get().stream_idle_timeout,
      [call](bool expired) {
        if (expired) call->OnHeaderTimeout();
        call->Unref();
      });
  call->ReadNext();
  return call;
}

void ReduceStreamCall::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void ReduceStreamCall::OnReadDone(bool ok) {
  if (!got_header_) {
    got_header_ = true;
    OnHeader(ok);
  } else {
    OnChunkMessage(ok);
  }
}

void ReduceStreamCall::OnHeader(bool ok) {
  if (!EndHeaderPhase()) return;
  header_alarm_.Cancel();
  if (absl::Status status = ServeHeader(ok); !status.ok()) return RefuseWith(status);
  // A cancellation that came before the job was queued found nothing to take back.
  if (!Wanted().ok()) Cancel();
}

void ReduceStreamCall::OnHeaderTimeout() {
  if (!EndHeaderPhase()) return;
  RefuseWith(absl::DeadlineExceededError(absl::StrCat(
      "header: nothing came for ", services().limits.Get().stream_idle_timeout.count(), " ms")));
}

absl::Status ReduceStreamCall::ServeHeader(bool ok) {
  if (!ok) {
    if (context_->IsCancelled()) return absl::CancelledError("the client cancelled the request");
    return absl::InvalidArgumentError("header: the stream ended without one");
  }
  absl::StatusOr<WireMessage> wire = WireMessage::Split(&message_, "chunk");
  if (!wire.ok()) return wire.status();
  v1::ReduceStreamRequest message;
  if (absl::Status parsed = wire->ParseHeader(&message); !parsed.ok()) return parsed;
  if (!message.has_header()) {
    return absl::InvalidArgumentError("header: the first message has none");
  }
  if (wire->has_payload()) {
    return absl::InvalidArgumentError("header: its message carries a chunk too");
  }
  if (message.header().source_case() != v1::ReduceRequest::SOURCE_NOT_SET) {
    return absl::InvalidArgumentError("header: has a source, but the chunks are the source");
  }
  message_.Clear();
  if (absl::Status status = Accept(message.header()); !status.ok()) return status;
  payload_.Promise(plan().input_bytes);
  return Start(/*held_bytes=*/0);
}

void ReduceStreamCall::OnChunkMessage(bool ok) {
  if (!ok) {
    if (context_->IsCancelled()) {
      payload_.Fail(absl::CancelledError("the client cancelled the request"));
    }
    return payload_.OnEnd();
  }
  grpc::ByteBuffer buffer;
  buffer.Swap(&message_);
  absl::StatusOr<WireMessage> wire = WireMessage::Split(&buffer, "chunk");
  if (!wire.ok()) return payload_.Fail(wire.status());
  v1::ReduceStreamRequest message;
  if (absl::Status parsed = wire->ParseHeader(&message); !parsed.ok()) return payload_.Fail(parsed);
  if (message.has_header()) {
    return payload_.Fail(absl::InvalidArgumentError("header: sent twice"));
  }
  if (!wire->has_payload()) {
    return payload_.Fail(absl::InvalidArgumentError("chunk: the message has none"));
  }
  payload_.OnChunk(wire->TakePayload());
}

void ReduceStreamCall::OnCancel() {
  // The lane may be waiting for a chunk that will not come.
  payload_.Fail(Wanted().ok() ? absl::CancelledError("the client cancelled the request")
                              : Wanted());
  Cancel();
}

void ReduceStreamCall::RefuseWith(const absl::Status& status) {
  Refuse(status);
  FinishWith(status);
}

void ReduceStreamCall::Answer(const absl::Status& status, v1::ReduceResponse* response) {
  if (!status.ok()) return FinishWith(status);
  FinishWith(Encode(*response, response_));
}

void ReduceStreamCall::FinishWith(const absl::Status& status) {
  record_.Handled(status.code());
  Finish(ToGrpcStatus(status, context_));
}

}  // namespace warpfold
