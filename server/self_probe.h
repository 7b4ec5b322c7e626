// Whether new clients reach the server: a thread that connects to each of its addresses every
// second, as a client would, and waits for the first words of gRPC's or of TLS'. Event threads that
// hang, a machine without descriptors, as many connections as there may be: calls of clients that
// are connected see none of it, and new ones are lost in silence.
//
// No client's certificate is needed: with TLS the probe ends at the server's answer to its hello.
#ifndef WARPFOLD_SERVER_SELF_PROBE_H_
#define WARPFOLD_SERVER_SELF_PROBE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/system/host_port.h"
#include "server/system/listening_socket.h"

namespace warpfold {

// What a row of probes comes to. Plain value.
class Reach {
 public:
  // A lone failure may be a moment's: a full queue, a busy machine.
  static constexpr int kFailuresMax = 3;

  // One probe succeeded or failed, `took` after the one before. Of that `counted_max` is counted: a
  // process that was stopped meanwhile has not failed for so long.
  void Count(bool succeeded, std::chrono::milliseconds took, std::chrono::milliseconds counted_max);

  // False from the third failure in a row to the next success.
  bool reachable() const { return failures_ < kFailuresMax; }
  // The time of the failures in a row.
  std::chrono::milliseconds failed_for() const { return failed_for_; }

 private:
  int failures_ = 0;  // in a row
  std::chrono::milliseconds failed_for_{0};
};

struct SelfProbeOptions {
  // Where the server listens; each socket of each has to answer. Every address is probed by
  // loopback.
  std::vector<BoundAddress> addresses;
  bool uses_tls = false;  // at those with a port
  // Told of the address from which the next connection comes, where it is one of TCP.
  std::function<void(const SocketAddress& own)> before_connect{};
  std::chrono::milliseconds every{1000};
  std::chrono::milliseconds timeout{2000};
  // Told of every probe, by the probe's own thread. OK, or UNAVAILABLE "ADDRESS: why".
  std::function<void(const absl::Status&, const Reach&)> on_probe;
};

class SelfProbe {
 public:
  // RESOURCE_EXHAUSTED: no descriptor for it is left.
  static absl::StatusOr<std::unique_ptr<SelfProbe>> Start(SelfProbeOptions options);

  // Ends the probe that runs, and waits for its thread.
  virtual ~SelfProbe() = default;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_SELF_PROBE_H_
