// What `describe` means: every statistic of a tensor that a server has. The same list is in
// client/python/warpfold/_describe.py and server/frontend/kserve/models.cc, and a test compares
// them (tests/client/describe_ops_test.py).
#ifndef WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_OPS_H_
#define WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_OPS_H_

#include "client/cpp/tensor.h"

namespace warpfold::client {

inline constexpr Op kDescribeOps[] = {v1::OP_SUM,     v1::OP_MEAN,      v1::OP_STD,
                                      v1::OP_MIN,     v1::OP_MAX,       v1::OP_L1_NORM,
                                      v1::OP_L2_NORM, v1::OP_NAN_COUNT, v1::OP_INF_COUNT};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_DESCRIBE_OPS_H_
