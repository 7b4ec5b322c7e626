// What becomes of clients' connections while the server drains.
//
// gRPC closes a connection once its peer has answered a PING that goes with GOAWAY, and has taken
// what is written to it. An idle client of gRPC's looks after seconds alone, one that reads nothing
// never does, and TCP_USER_TIMEOUT ends what is written after 20 to 30 s.
#ifndef WARPFOLD_SERVER_DRAIN_CONNECTIONS_H_
#define WARPFOLD_SERVER_DRAIN_CONNECTIONS_H_

#include <chrono>

#include "absl/synchronization/notification.h"
#include "server/core/admission/admission.h"
#include "server/frontend/grpc/acceptor.h"
#include "server/observe/log/log.h"

namespace warpfold {

struct DrainedParts {
  const AdmissionController& admission;
  Acceptor& acceptor;
  Log& log;
};

// Ends all connections when nobody has had a call for half a second, and when `timeout` and half a
// second are over: until then a client may read its answer, or that it is cancelled. Again each
// half second. Returns when the drain has `ended`.
void EndConnectionsOfDrain(std::chrono::milliseconds timeout, const absl::Notification& ended,
                           const DrainedParts& parts);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DRAIN_CONNECTIONS_H_
