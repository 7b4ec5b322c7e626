#include "server/observe/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace warpfold {
namespace {

// Connects to the page on this host, and leaves.
void Knock(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  close(connection);
}

}  // namespace

// The thread that listens looks every 2 s whether it shall end (civetweb before 1.16), and whenever
// somebody comes: so somebody does, until it has ended. In vain where the page is not on the
// loopback; then it takes the 2 s.
MetricsServer::~MetricsServer() {
  absl::Notification ended;
  std::jthread knocking([this, &ended] {
    do {
      Knock(port_);
    } while (!ended.WaitForNotificationWithTimeout(absl::Milliseconds(10)));
  });
  exposer_.reset();
  ended.Notify();
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> pages) {
  std::unique_ptr<prometheus::Exposer> exposer;
  try {
    exposer = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address, "num_threads", "4",
                                 "request_timeout_ms", absl::StrCat(kClientTimeout.count())});
  } catch (const std::exception& error) {  // civetweb's only way to say that it cannot bind
    return absl::UnavailableError(
        absl::StrCat("metrics-address: cannot listen on ", address, ": ", error.what()));
  }
  for (const std::shared_ptr<prometheus::Collectable>& page : pages) {
    exposer->RegisterCollectable(page);
  }
  const std::vector<int> ports = exposer->GetListeningPorts();
  const int port = ports.empty() ? 0 : ports.front();
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(std::move(exposer), port, std::move(pages)));
}

}  // namespace warpfold
