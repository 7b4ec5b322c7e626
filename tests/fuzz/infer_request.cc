// A ModelInferRequest of the Open Inference Protocol: decoded and planned, or refused.
#include <utility>

#include "server/core/base/limits.h"
#include "server/core/regions/region_table.h"
#include "server/core/request/request.h"
#include "server/frontend/kserve/infer_codec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_bytes.h"

namespace warpfold {
namespace {

absl::Status DecodeAndPlan(grpc::ByteBuffer* message) {
  static kserve::ModelCounts& counts = *new kserve::ModelCounts;
  static RegionTable& regions = *new RegionTable({}, {});
  kserve::InferCodec codec(kserve::InferCodec::Of::kCall, counts, regions, Everyone());
  Decoded decoded;
  if (absl::Status read = codec.Decode(message, &decoded); !read.ok()) return read;
  return codec.TranslateError(PlanRequest(std::move(decoded.spec), Limits()).status());
}

}  // namespace
}  // namespace warpfold

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  grpc::ByteBuffer buffer = warpfold::fuzz::MessageOf(data, size);
  if (const absl::Status status = warpfold::DecodeAndPlan(&buffer); !status.ok()) {
    warpfold::fuzz::RequireRefusal(status);
  }
  return 0;
}
