// Results as the contract has them.
//
// Step of a request: the way back. Pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_RESPONSE_H_
#define WARPFOLD_SERVER_FRONTEND_RESPONSE_H_

#include <string>
#include <vector>

#include "kernels/plan.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

// Adds the results of `plan`, one string an op, to `response`.
void AddResults(const Plan& plan, std::vector<std::string> results, v1::ReduceResponse* response);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_RESPONSE_H_
