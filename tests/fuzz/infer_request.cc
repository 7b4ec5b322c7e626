// A ModelInferRequest of the Open Inference Protocol: translated and planned, or refused.
#include "server/core/limits.h"
#include "server/core/region_table.h"
#include "server/frontend/decode.h"
#include "server/frontend/kserve/infer_exchange.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_bytes.h"

namespace warpfold {
namespace {

absl::Status Read(grpc::ByteBuffer* buffer) {
  static kserve::ModelCounts& counts = *new kserve::ModelCounts;
  static RegionTable& regions = *new RegionTable({}, {});
  kserve::InferExchange exchange(counts, regions, Everyone());
  TensorMessage message;
  if (absl::Status read = exchange.Read(buffer, &message); !read.ok()) return read;
  const absl::StatusOr<const v1::Source*> values = FindValues(message.header);
  if (!values.ok()) return exchange.Told(values.status());
  return exchange.Told(DecodeRequest(message.header, **values, Limits()).status());
}

}  // namespace
}  // namespace warpfold

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  grpc::ByteBuffer buffer = warpfold::fuzz::MessageOf(data, size);
  if (const absl::Status status = warpfold::Read(&buffer); !status.ok()) {
    warpfold::fuzz::RequireRefusal(status);
  }
  return 0;
}
