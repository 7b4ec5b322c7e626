// What the address of an option can be used for.
#ifndef WARPFOLD_SERVER_CHECK_PORT_CHECK_H_
#define WARPFOLD_SERVER_CHECK_PORT_CHECK_H_

#include <string>

#include "server/check/report.h"
#include "server/system/listen_address.h"
#include "server/system/listen_port.h"

namespace warpfold {

// Adds whether `address`, of --`option`, is free, and who holds it. A server that holds it and
// speaks gRPC is asked for its version. While what it returns lives, it is taken for the next.
ListeningPort CheckPort(const std::string& option, const HostPort& address, bool speaks_grpc,
                        CheckReport& report);

// The same of a UNIX socket of --listen-address.
void CheckSocket(const UnixSocket& socket, CheckReport& report);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CHECK_PORT_CHECK_H_
