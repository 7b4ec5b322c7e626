#include "server/frontend/response.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/ops/catalogue.h"
#include "server/frontend/decode.h"

namespace warpfold {

void AddResults(const Plan& plan, std::vector<std::string> results, v1::ReduceResponse* response) {
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    v1::Result* result = response->add_results();
    FillOp(plan.ops[i], plan.correction, result->mutable_spec());
    result->mutable_tensor()->set_dtype(ToProto(ResultDType(plan.ops[i], plan.dtype)));
    for (const std::int64_t length : plan.result_shape) result->mutable_tensor()->add_shape(length);
    result->set_data(std::move(results[i]));
  }
}

}  // namespace warpfold
