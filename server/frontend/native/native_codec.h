// Codec in the words of warpfold.v1: ReduceRequest, ReduceResponse, ReduceManyResponse.
#ifndef WARPFOLD_SERVER_FRONTEND_NATIVE_NATIVE_CODEC_H_
#define WARPFOLD_SERVER_FRONTEND_NATIVE_NATIVE_CODEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/plan.h"
#include "server/frontend/requests/codec.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class NativeCodec final : public Codec {
 public:
  // Of a call, or of an item of a stream.
  enum class Of { kCall, kItem };
  explicit NativeCodec(Of of) : of_(of) {}

  absl::Status Decode(grpc::ByteBuffer* message, Decoded* decoded) override;
  absl::Status TranslateError(const absl::Status& status) const override { return status; }
  absl::Status Encode(const Request& request, const absl::Status& status, Answer* answer,
                      grpc::ByteBuffer* message) override;

 private:
  const Of of_;
};

// Adds the results of `plan`, one string an op, to `response`.
void AddResults(const Plan& plan, std::vector<std::string> results, v1::ReduceResponse* response);

// Fills all of `result` but its spec: `kept` are the lengths of the dimensions that are kept, `own`
// those of the op's.
void FillResult(DType dtype, std::span<const std::int64_t> kept, std::span<const std::int64_t> own,
                std::string data, v1::Result* result);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_NATIVE_NATIVE_CODEC_H_
