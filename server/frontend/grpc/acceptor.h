// Accepts the clients' connections at all addresses, and hands them to gRPC.
//
// gRPC's own listeners take any number of connections, and once the process has had no descriptor
// left (EMFILE) 1.51's never accept again. Nor does gRPC tell when a connection is over, or end
// one. So the server accepts them itself and keeps a second descriptor of each, which shows its end
// and by which it can be ended: a connection takes two descriptors.
//
// Connections are shared as requests are (caller_share.h). They belong to the address that they
// come from (peer_address.h), those to UNIX sockets to the user whose process it is: which caller
// it is shows with a call. One beyond an address's share, or beyond all that there may be, is
// closed at once.
//
// Step of a request: before 1. Safe from any thread, but for its start and its end.
#ifndef WARPFOLD_SERVER_FRONTEND_GRPC_ACCEPTOR_H_
#define WARPFOLD_SERVER_FRONTEND_GRPC_ACCEPTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/system/host_port.h"

namespace warpfold {

// Of clients: those of the process to itself (ExpectOwn) are none.
struct ConnectionCounts {
  std::int64_t open = 0;
  std::int64_t max = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused_full = 0;         // all that there may be are open
  std::uint64_t refused_share = 0;        // its address has its share
  std::uint64_t refused_descriptors = 0;  // there was none for the second one
  std::uint64_t shortages = 0;            // none for the first: they wait until some are free
};

struct ConnectionsMax {
  std::int64_t count = 8192;
  const char* by = "--max-connections";  // what bounds them, in words
};

// Told by the acceptor's thread, of each that is refused: where it comes from, and why. Empty
// `peer`: of those that wait, as no descriptor is left.
using OnConnectionRefused = std::function<void(const std::string& peer, const absl::Status& why)>;

struct AcceptorOptions {
  ConnectionsMax connections_max;
  // Time in which what was sent has to arrive (TCP_USER_TIMEOUT).
  std::chrono::milliseconds user_timeout{20'000};
  OnConnectionRefused on_refused{};
};

class Acceptor {
 public:
  // Clients' connections to some sockets that listen, and who takes them: `hand_over` owns the
  // descriptor that it is given, and is called by the acceptor's thread.
  struct Door {
    std::vector<int> listeners;
    std::function<void(int listener, int connection)> hand_over;
  };

  // Accepts from now on. `doors` outlive StopAccepting. RESOURCE_EXHAUSTED: no descriptors for it.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(AcceptorOptions options,
                                                         std::vector<Door> doors);
  // Ends nothing that is open.
  virtual ~Acceptor() = default;

  // When it returns no connection is handed over any more. Ends are still seen.
  virtual void StopAccepting() = 0;

  // The next connection of this process to itself, which comes from `own`, is always taken: whether
  // who is accepted is served is to be known although clients have all that they may.
  virtual void ExpectOwn(const SocketAddress& own) = 0;

  // From now on. What is open stays.
  virtual void SetConnectionsMax(const ConnectionsMax& connections_max) = 0;

  // Shuts all down in both directions, so that writes which wait for a peer to read fail at once.
  // Returns how many there were.
  virtual std::int64_t EndAll() = 0;

  virtual ConnectionCounts counts() const = 0;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_GRPC_ACCEPTOR_H_
