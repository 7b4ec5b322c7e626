// A ReduceRequest: taken apart, then planned or refused.
#include "server/core/limits.h"
#include "server/frontend/decode.h"
#include "server/frontend/reduce_exchange.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_bytes.h"

namespace warpfold {
namespace {

absl::StatusOr<Request> Decoded(grpc::ByteBuffer* buffer, v1::ReduceRequest* header) {
  TensorMessage message;
  if (absl::Status read = ReduceExchange().Read(buffer, &message); !read.ok()) return read;
  *header = message.header;
  const absl::StatusOr<const v1::Source*> values = FindValues(message.header);
  if (!values.ok()) return values.status();
  return DecodeRequest(message.header, **values, Limits());
}

}  // namespace
}  // namespace warpfold

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  grpc::ByteBuffer buffer = warpfold::fuzz::MessageOf(data, size);
  warpfold::v1::ReduceRequest header;
  const absl::StatusOr<warpfold::Request> request = warpfold::Decoded(&buffer, &header);
  if (!request.ok()) {
    warpfold::fuzz::RequireRefusal(request.status());
    return 0;
  }
  warpfold::fuzz::Require(request->plan.ops.size() == static_cast<std::size_t>(header.ops_size()),
                          "a plan has all that was asked for");
  return 0;
}
