// The names of status codes in metrics and log lines.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_CODE_NAME_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_CODE_NAME_H_

#include "absl/status/status.h"

namespace warpfold {

// "OK", "InvalidArgument": the spelling of the gRPC ecosystem's dashboards.
const char* CodeName(absl::StatusCode code);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_CODE_NAME_H_
