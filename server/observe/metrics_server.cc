#include "server/observe/metrics_server.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/host_port.h"

namespace warpfold {
namespace {

// Connects to the page, and leaves. A page on all addresses is on this host's own, too.
void Knock(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* page = nullptr;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &page) != 0) return;
  const int connection = socket(page->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection >= 0) {
    (void)connect(connection, page->ai_addr, page->ai_addrlen);
    close(connection);
  }
  freeaddrinfo(page);
}

}  // namespace

// The thread that listens looks every 2 s whether it shall end (civetweb before 1.16), and whenever
// somebody comes: so somebody does, until it has ended.
MetricsServer::~MetricsServer() {
  absl::Notification ended;
  std::jthread knocking([this, &ended] {
    do {
      Knock(host_, port_);
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
      new MetricsServer(std::move(exposer), ParseHostPort(address)->host, port, std::move(pages)));
}

}  // namespace warpfold
