#include "server/frontend/reduce_stream_call.h"

#include <algorithm>
#include <utility>

#include "kernels/field_error.h"
#include "server/frontend/deadline.h"
#include "server/frontend/decode.h"
#include "server/frontend/encode.h"

namespace warpfold {

ReduceStreamCall::ReduceStreamCall(Services& services, ArrivedCall arrived)
    : Job(services, Method::kReduceStream, *arrived.caller, DeadlineOf(*arrived.context)),
      ChunkStreamCall(static_cast<Submission&>(*this), Method::kReduceStream, std::move(arrived)) {
  task().payload = &chunks();
  task().waits_for_client = true;
}

absl::StatusOr<bool> ReduceStreamCall::TakeHeader(const WireMessage& wire) {
  v1::ReduceStreamRequest message;
  if (absl::Status parsed = wire.ParseHeader(&message); !parsed.ok()) return parsed;
  if (!message.has_header()) return false;
  header_.Swap(message.mutable_header());
  return true;
}

absl::StatusOr<std::int64_t> ReduceStreamCall::AcceptHeader() {
  // Not in the member, which would keep what it once held for as long as the client reads nothing.
  v1::ReduceRequest header;
  header.Swap(&header_);
  if (!header.data().empty() || std::ranges::any_of(header.sources(), LiesElsewhere)) {
    return InvalidField(Field::kHeader, "the chunks are the source's bytes, and it has others");
  }
  absl::Status accepted = Accept(header);
  if (accepted.ok()) accepted = Expect({.results = answer_bytes()});
  if (!accepted.ok()) return accepted;
  return plan().input_bytes;
}

absl::Status ReduceStreamCall::StartTask() {
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
