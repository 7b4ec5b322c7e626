#include "server/frontend/methods/reduce_upload.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/field_error.h"
#include "server/frontend/native/decode.h"
#include "server/frontend/native/native_codec.h"

namespace warpfold {

ReduceUpload::ReduceUpload(Services& services, UploadCall& call)
    : call_(call),
      reduction_(services, Method::kReduceStream,
                 std::make_unique<NativeCodec>(NativeCodec::Of::kCall), call) {}

absl::StatusOr<bool> ReduceUpload::TakeHeader(const WireMessage& wire) {
  v1::ReduceStreamRequest message;
  if (absl::Status parsed = wire.ParseHeader(&message); !parsed.ok()) return parsed;
  if (!message.has_header()) return false;
  header_.Swap(message.mutable_header());
  return true;
}

absl::StatusOr<std::int64_t> ReduceUpload::AcceptHeader() {
  // Not in the member, which would keep what it once held for as long as the client reads nothing.
  v1::ReduceRequest header;
  header.Swap(&header_);
  if (!header.data().empty() || std::ranges::any_of(header.sources(), LiesElsewhere)) {
    return InvalidField(Field::kHeader, "the chunks are the source's bytes, and it has others");
  }
  reduction_.Identify(header.request_id());
  absl::StatusOr<RequestSpec> spec = DecodeReduce(header);
  if (!spec.ok()) return spec.status();
  absl::Status status = reduction_.Accept(*std::move(spec), call_.chunks());
  if (status.ok()) status = reduction_.Expect();
  if (!status.ok()) return status;
  return reduction_.plan().input_bytes;
}

absl::Status ReduceUpload::Start(std::chrono::nanoseconds waited) {
  reduction_.OnWaitedInLine(waited);
  return reduction_.Start();
}

}  // namespace warpfold
