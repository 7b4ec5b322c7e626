#include "server/frontend/reduce_stream_call.h"

#include "server/frontend/deadline.h"
#include "server/frontend/encode.h"

namespace warpfold {

ReduceStreamCall::ReduceStreamCall(Services& services, grpc::CallbackServerContext* context,
                                   grpc::ByteBuffer* response)
    : Job(services, Method::kReduceStream, DeadlineOf(*context)),
      ChunkStreamCall(static_cast<Submission&>(*this), Method::kReduceStream, context),
      response_(response) {}

grpc::ServerReadReactor<grpc::ByteBuffer>* ReduceStreamCall::Begin(
    Services& services, grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  ReduceStreamCall* call = new ReduceStreamCall(services, context, response);
  call->BeginReading();
  return call;
}

absl::StatusOr<bool> ReduceStreamCall::TakeHeader(const WireMessage& wire) {
  v1::ReduceStreamRequest message;
  if (absl::Status parsed = wire.ParseHeader(&message); !parsed.ok()) return parsed;
  if (!message.has_header()) return false;
  header_.Swap(message.mutable_header());
  return true;
}

absl::Status ReduceStreamCall::ServeHeader() {
  if (header_.source_case() != v1::ReduceRequest::SOURCE_NOT_SET) {
    return absl::InvalidArgumentError("header: has a source, but the chunks are the source");
  }
  absl::Status accepted = Accept(header_);
  header_.Clear();
  if (!accepted.ok()) return accepted;
  chunks().Promise(plan().input_bytes);
  return Start(/*held_bytes=*/0);
}

void ReduceStreamCall::RefuseWith(const absl::Status& status) {
  Refuse(status);
  FinishWith(status);
}

void ReduceStreamCall::Answer(const absl::Status& status, v1::ReduceResponse* response) {
  if (!status.ok()) return FinishWith(status);
  FinishWith(Encode(*response, response_));
}

}  // namespace warpfold
