// Results as the contract has them.
//
// Step of a request: the way back. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_RESPONSE_H_
#define WARPFOLD_SERVER_FRONTEND_RESPONSE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/plan.h"
#include "kernels/types.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

// Adds the results of `plan`, one string an op, to `response`.
void AddResults(const Plan& plan, std::vector<std::string> results, v1::ReduceResponse* response);

// Fills all of `result` but its spec: `kept` are the lengths of the dimensions that are kept, `own`
// those of the op's.
void FillResult(DType dtype, std::span<const std::int64_t> kept, std::span<const std::int64_t> own,
                std::string data, v1::Result* result);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_RESPONSE_H_
