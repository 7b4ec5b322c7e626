// The source of a request's values, made if the request has none.
#ifndef WARPFOLD_TESTS_CONTRACT_VALUES_OF_H_
#define WARPFOLD_TESTS_CONTRACT_VALUES_OF_H_

#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

inline v1::Source& ValuesOf(v1::ReduceRequest& request) {
  return request.sources().empty() ? *request.add_sources() : *request.mutable_sources(0);
}

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_CONTRACT_VALUES_OF_H_
