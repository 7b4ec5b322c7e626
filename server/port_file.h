// The file of --port-file, for who starts a server on port 0.
#ifndef WARPFOLD_SERVER_PORT_FILE_H_
#define WARPFOLD_SERVER_PORT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace warpfold {

// Writes "grpc_port metrics_port" (0: no such port) into `path`, whole or not at all. UNAVAILABLE:
// cannot be written.
absl::Status WritePortFile(const std::string& path, int grpc_port, int metrics_port);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_PORT_FILE_H_
