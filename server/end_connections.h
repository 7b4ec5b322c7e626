// Ends the connections that this process accepted at an address, by force: gRPC has no call for it.
//
// Safe from any thread, but for one that closes such connections meanwhile: a number that was
// closed and taken again is looked at anew, and only in between another's could be met.
#ifndef WARPFOLD_SERVER_END_CONNECTIONS_H_
#define WARPFOLD_SERVER_END_CONNECTIONS_H_

#include "server/system/listen_address.h"

namespace warpfold {

// Shuts down what was accepted at `address`, with the port that it has, in both directions: writes
// that wait for a peer to read fail at once. Needs no descriptor. Returns how many there were.
int EndConnections(const ListenAddress& address);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_END_CONNECTIONS_H_
