// `warpfold-server --check`: everything that the server needs to start, tried without serving.
#ifndef WARPFOLD_SERVER_CHECK_CHECK_H_
#define WARPFOLD_SERVER_CHECK_CHECK_H_

#include "server/check/report.h"
#include "server/config.h"

namespace warpfold {

// Takes what the start takes of time and memory: minutes where the driver compiles the kernels.
// Whatever is wrong is a finding. Call once in a process.
CheckReport CheckAll(const Config& config);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CHECK_CHECK_H_
