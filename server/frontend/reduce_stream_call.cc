#include "server/frontend/reduce_stream_call.h"

#include <utility>

#include "kernels/field_error.h"
#include "server/frontend/deadline.h"
#include "server/frontend/encode.h"

namespace warpfold {

ReduceStreamCall::ReduceStreamCall(Services& services, ArrivedCall arrived)
    : Job(services, Method::kReduceStream, DeadlineOf(*arrived.context)),
      ChunkStreamCall(static_cast<Submission&>(*this), Method::kReduceStream, std::move(arrived)) {}

absl::StatusOr<bool> ReduceStreamCall::TakeHeader(const WireMessage& wire) {
  v1::ReduceStreamRequest message;
  if (absl::Status parsed = wire.ParseHeader(&message); !parsed.ok()) return parsed;
  if (!message.has_header()) return false;
  header_.Swap(message.mutable_header());
  return true;
}

absl::StatusOr<std::int64_t> ReduceStreamCall::AcceptHeader() {
  if (header_.source_case() != v1::ReduceRequest::SOURCE_NOT_SET) {
    return InvalidField(Field::kHeader, "has a source, but the chunks are the source");
  }
  absl::Status accepted = Accept(header_);
  header_.Clear();
  if (accepted.ok()) accepted = Expect({.results = answer_bytes()});
  if (!accepted.ok()) return accepted;
  return plan().input_bytes;
}

absl::Status ReduceStreamCall::StartWork() {
  AddQueueTime(place_wait());
  return Submission::Start({.results = answer_bytes()});
}

void ReduceStreamCall::RefuseWith(const absl::Status& status) {
  Refuse(status);
  ticket().Release();  // it is expected no more, however slowly its client reads that
  Answer(status, nullptr);
}

void ReduceStreamCall::Answer(const absl::Status& status, v1::ReduceResponse* response) {
  grpc::ByteBuffer answer;
  const absl::Status told = status.ok() ? Encode(*response, &answer) : status;
  Send(told, answer, std::move(ticket()));
}

}  // namespace warpfold
