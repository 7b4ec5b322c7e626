// A ReduceRequest: taken apart, then planned or refused.
#include <utility>

#include "server/core/base/limits.h"
#include "server/core/request/request.h"
#include "server/frontend/native/native_codec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_bytes.h"

namespace warpfold {
namespace {

absl::Status DecodeAndPlan(grpc::ByteBuffer* message) {
  Decoded decoded;
  NativeCodec codec(NativeCodec::Of::kCall);
  if (absl::Status read = codec.Decode(message, &decoded); !read.ok()) return read;
  const std::vector<Op> asked = decoded.spec.reduce.ops;
  const absl::StatusOr<Request> request = PlanRequest(std::move(decoded.spec), Limits());
  if (!request.ok()) return request.status();
  fuzz::Require(request->plan.ops == asked, "a plan has all that was asked for");
  return absl::OkStatus();
}

}  // namespace
}  // namespace warpfold

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  grpc::ByteBuffer message = warpfold::fuzz::MessageOf(data, size);
  const absl::Status status = warpfold::DecodeAndPlan(&message);
  if (!status.ok()) warpfold::fuzz::RequireRefusal(status);
  return 0;
}
