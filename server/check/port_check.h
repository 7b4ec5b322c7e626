// Whether a port is free, and who holds it.
#ifndef WARPFOLD_SERVER_CHECK_PORT_CHECK_H_
#define WARPFOLD_SERVER_CHECK_PORT_CHECK_H_

#include <optional>
#include <string>

#include "server/check/report.h"

namespace warpfold {

// The process that listens on a TCP port.
struct PortHolder {
  int pid = 0;
  std::string command;  // "warpfold-server"
};

// None: nobody does, or the process is another user's and the system does not say.
std::optional<PortHolder> FindPortHolder(int port);

// Adds what `address`, of --`option`, can be used for. A server that holds it and speaks gRPC is
// asked for its version.
void CheckPort(const std::string& option, const std::string& address, bool speaks_grpc,
               CheckReport& report);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CHECK_PORT_CHECK_H_
