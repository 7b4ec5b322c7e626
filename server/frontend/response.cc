#include "server/frontend/response.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/ops/catalogue.h"
#include "server/frontend/decode.h"

namespace warpfold {

static_assert(std::ranges::all_of(kAllOps, [](Op op) { return TrailingDims(op) == 0; }),
              "an op whose results have dimensions of their own has to say their lengths here");

void AddResults(const Plan& plan, std::vector<std::string> results, v1::ReduceResponse* response) {
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    v1::Result* result = response->add_results();
    FillOp(plan.ops[i], plan.correction, result->mutable_spec());
    FillResult(ResultDType(plan.ops[i], plan.dtype), plan.result_shape, {}, std::move(results[i]),
               result);
  }
}

void FillResult(DType dtype, std::span<const std::int64_t> kept, std::span<const std::int64_t> own,
                std::string data, v1::Result* result) {
  v1::TensorSpec& tensor = *result->mutable_tensor();
  tensor.set_dtype(ToProto(dtype));
  for (const std::int64_t length : kept) tensor.add_shape(length);
  for (const std::int64_t length : own) tensor.add_shape(length);
  result->set_trailing_dims(static_cast<std::int32_t>(own.size()));
  result->set_data(std::move(data));
}

}  // namespace warpfold
