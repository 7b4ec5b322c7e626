// One client of a load: its connection, and the request that it repeats, by one path.
//
// A request is sent and its answer received in two steps, so that a path which pipelines (kMany)
// and those that do not look alike: between the two, at most in_flight_max() requests are on their
// way.
//
// Thread safety: none; each belongs to the thread that uses it.
#ifndef WARPFOLD_CLIENT_CPP_LOAD_LOAD_CLIENT_H_
#define WARPFOLD_CLIENT_CPP_LOAD_LOAD_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/cpp/load/load.h"

namespace warpfold::client {

class LoadClient {
 public:
  struct Outcome {
    int slot = 0;  // of the request
    absl::Status status;
    std::string device;
    v1::Timing timing;  // the server's
  };

  // Connects, and puts the tensor where the path says so.
  static absl::StatusOr<std::unique_ptr<LoadClient>> Make(const LoadOptions& options,
                                                          std::span<const std::byte> payload);
  virtual ~LoadClient() = default;

  // Sends a request; may block until it is answered. `slot`, below in_flight_max(), names it: free
  // again once Receive has had it.
  virtual void Send(int slot) = 0;

  // The next outcome of those sent; nullopt when there is none by `until`. The clients that block
  // in Send have it at once.
  virtual std::optional<Outcome> Receive(std::chrono::system_clock::time_point until) = 0;

  virtual int in_flight_max() const = 0;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_LOAD_LOAD_CLIENT_H_
