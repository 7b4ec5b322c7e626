#include "server/frontend/message_job.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"

namespace warpfold {
namespace {

absl::Status CheckData(const TensorMessage& message, std::int64_t payload_bytes) {
  const std::size_t bytes = message.payload.has_value() ? message.payload->size_bytes() : 0;
  if (static_cast<std::int64_t>(bytes) != payload_bytes) {
    return InvalidField(
        Field::kData, absl::StrCat("has ", bytes, " bytes, but tensor describes ", payload_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MessageJob::Take(grpc::ByteBuffer* request) {
  grpc::ByteBuffer buffer;
  buffer.Swap(request);
  TensorMessage message;
  if (absl::Status read = exchange_->Read(&buffer, &message); !read.ok()) {
    Identify(message.header);
    return read;
  }
  absl::Status status = Accept(message.header);
  if (status.ok()) status = CheckData(message, payload_bytes());
  if (!status.ok()) return exchange_->Told(status);
  if (message.payload.has_value()) payload_.Set(*std::move(message.payload));
  task().payload = is_in_region() ? &region() : &payload_;
  task().may_run_inline = true;
  task().done_waits = exchange_->PlacesOnDevice();
  return absl::OkStatus();
}

}  // namespace warpfold
