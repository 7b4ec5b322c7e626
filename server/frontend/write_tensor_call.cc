#include "server/frontend/write_tensor_call.h"

#include <cstdint>
#include <utility>

#include "server/frontend/deadline.h"
#include "server/frontend/decode.h"
#include "server/frontend/encode.h"
#include "server/frontend/plain_call.h"

namespace warpfold {

WriteTensorCall::WriteTensorCall(Services& services, ArrivedCall arrived)
    : Submission(services, *arrived.caller, DeadlineOf(*arrived.context)),
      ChunkStreamCall(static_cast<Submission&>(*this), Method::kWriteTensor, std::move(arrived)) {}

absl::StatusOr<bool> WriteTensorCall::TakeHeader(const WireMessage& wire) {
  v1::WriteTensorRequest message;
  if (absl::Status parsed = wire.ParseHeader(&message); !parsed.ok()) return parsed;
  if (!message.has_header()) return false;
  header_.Swap(message.mutable_header());
  return true;
}

absl::StatusOr<std::int64_t> WriteTensorCall::AcceptHeader() {
  absl::Status id = CheckRequestId(header_.request_id(), services().limits.Get());
  if (!id.ok()) return id;
  request_id_ = header_.request_id();
  absl::StatusOr<TensorWriteLease> tensor = services().tensors.Write(
      caller(), header_.tensor_id(), header_.offset_bytes(), header_.size_bytes(), &token());
  if (!tensor.ok()) return tensor.status();
  tensor_ = *std::move(tensor);
  FillTask();
  if (absl::Status expected = Expect({}); !expected.ok()) return expected;
  return tensor_.size_bytes();
}

void WriteTensorCall::RefuseWith(const absl::Status& status) {
  tensor_.Release();
  ticket().Release();  // as ReduceStreamCall's
  End(status, {});
}

void WriteTensorCall::End(const absl::Status& status, const grpc::ByteBuffer& answer) {
  LogCall(services().access_log, Method::kWriteTensor, status, record().elapsed(), request_id_,
          peer());
  Send(status, answer, std::move(ticket()));
}

void WriteTensorCall::FillTask() {
  const absl::Span<const Shard> shards = tensor_.shards();
  Task& write = task();
  write.action = WriteTensor{shards.front().data, tensor_.size_bytes()};
  write.payload = &chunks();
  write.device = shards.front().device;
  write.waits_for_client = true;
  if (shards.size() > 1) write.shards = shards;
}

void WriteTensorCall::OnDone(TaskReport report) {
  CloseChunks();
  absl::Status status = report.outcome.status();
  grpc::ByteBuffer answer;
  if (status.ok()) {
    v1::WriteTensorResponse response;
    const absl::StatusOr<std::int64_t> missing_bytes = tensor_.Commit();
    status = missing_bytes.status();
    if (status.ok()) {
      response.set_missing_bytes(*missing_bytes);
      status = Encode(response, &answer);
    }
  } else {
    tensor_.Release();
  }
  End(status, answer);
}

}  // namespace warpfold
