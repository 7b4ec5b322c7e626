#include "server/frontend/methods/tensor_write.h"

#include <cstdint>
#include <utility>

#include "server/core/request/request.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {

absl::StatusOr<bool> TensorWrite::TakeHeader(const WireMessage& wire) {
  v1::WriteTensorRequest message;
  if (absl::Status parsed = wire.ParseHeader(&message); !parsed.ok()) return parsed;
  if (!message.has_header()) return false;
  header_.Swap(message.mutable_header());
  return true;
}

absl::StatusOr<std::int64_t> TensorWrite::AcceptHeader() {
  absl::Status id = CheckRequestId(header_.request_id(), services_.limits.Get());
  if (!id.ok()) return id;
  request_id_ = header_.request_id();
  subject_ = {.tensor_id = header_.tensor_id()};
  absl::StatusOr<TensorWriteLease> tensor =
      services_.tensors.Write(call_.caller(), header_.tensor_id(), header_.offset_bytes(),
                              header_.size_bytes(), &submission_.token());
  if (!tensor.ok()) return tensor.status();
  tensor_ = *std::move(tensor);
  FillTask();
  if (absl::Status expected = submission_.Expect({}); !expected.ok()) return expected;
  return tensor_.size_bytes();
}

void TensorWrite::FillTask() {
  const absl::Span<const Shard> shards = tensor_.shards();
  Task& task = submission_.task();
  task.action = WriteTensor{shards.front().data, tensor_.size_bytes()};
  task.payload = &call_.chunks();
  task.device = shards.front().device;
  task.waits_for_client = true;
  if (shards.size() > 1) task.shards = shards;
}

absl::Status TensorWrite::Start(std::chrono::nanoseconds waited) {
  submission_.AddQueueTime(waited);
  return submission_.Start({});
}

void TensorWrite::Refuse(const absl::Status& status) {
  tensor_.Release();
  submission_.ticket().Release();  // it is expected no more, however slowly its client reads that
  grpc::ByteBuffer none;
  End(status, none);
}

void TensorWrite::OnDone(TaskReport report) {
  call_.StopReceiving();
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

void TensorWrite::End(const absl::Status& status, grpc::ByteBuffer& answer) {
  call_.LogAndSend(status, {request_id_, &subject_}, answer, std::move(submission_.ticket()));
}

}  // namespace warpfold
