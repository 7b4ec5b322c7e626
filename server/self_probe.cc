#include "server/self_probe.h"

#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/system/host_port.h"
#include "server/system/owned_descriptor.h"

namespace warpfold {
namespace {

using ProbeClock = std::chrono::steady_clock;

// HTTP/2's preface and settings without any.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
constexpr std::size_t kFrameHeaderBytes = 9;  // its fourth is the frame's type
constexpr char kSettingsFrame = 4;
constexpr char kTlsHandshake = 22;  // the first byte of a record

// 0.0.0.0 and :: as one of the addresses that they stand for: both listen at those of IPv4.
SocketAddress Reachable(SocketAddress socket) {
  const int port = PortOf(socket);
  const bool is_every =
      (socket.storage.ss_family == AF_INET6 &&
       IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<sockaddr_in6&>(socket.storage).sin6_addr)) ||
      (socket.storage.ss_family == AF_INET &&
       reinterpret_cast<sockaddr_in&>(socket.storage).sin_addr.s_addr == htonl(INADDR_ANY));
  if (!is_every) return socket;
  SocketAddress loopback{.size = sizeof(sockaddr_in)};
  auto& address = reinterpret_cast<sockaddr_in&>(loopback.storage);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  SetPort(loopback, port);
  return loopback;
}

// The first message of a TLS client; empty where the library cannot say it.
std::string TlsHello(SSL_CTX* context) {
  const std::unique_ptr<SSL, void (*)(SSL*)> client(SSL_new(context), SSL_free);
  if (client == nullptr) return "";
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), out);  // which owns both
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(client.get(), kHttp2, sizeof(kHttp2));
  SSL_set_connect_state(client.get());
  SSL_do_handshake(client.get());  // writes its hello, and would read the answer
  char* data = nullptr;
  const std::int64_t size = BIO_get_mem_data(out, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : "";
}

absl::Status Unreached(absl::string_view what, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(what, ": ", why));
}

class Prober final : public SelfProbe {
 public:
  Prober(SelfProbeOptions options, OwnedDescriptor wake)
      : options_(std::move(options)),
        wake_(std::move(wake)),
        tls_(options_.uses_tls ? SSL_CTX_new(TLS_client_method()) : nullptr, SSL_CTX_free),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  ~Prober() override {
    thread_.request_stop();
    eventfd_write(wake_.get(), 1);
  }

 private:
  void Run(const std::stop_token& stop) {
    Reach reach;
    ProbeClock::time_point before = ProbeClock::now();
    while (true) {
      const absl::Status status = Probe();
      if (stop.stop_requested()) return;
      const ProbeClock::time_point now = ProbeClock::now();
      reach.Count(status.ok(), std::chrono::duration_cast<std::chrono::milliseconds>(now - before),
                  options_.every + options_.timeout);
      before = now;
      options_.on_probe(status, reach);
      Await(std::nullopt, now + options_.every);
      if (stop.stop_requested()) return;
    }
  }

  absl::Status Probe() const {
    for (const BoundAddress& address : options_.addresses) {
      const bool uses_tls = options_.uses_tls && address.address.tcp() != nullptr;
      for (const SocketAddress& socket : address.sockets) {
        const absl::Status status = Probe(Reachable(socket), uses_tls);
        if (!status.ok()) return Unreached(ToString(address.address), status.message());
      }
    }
    return absl::OkStatus();
  }

  absl::Status Probe(const SocketAddress& address, bool uses_tls) const {
    const std::string hello =
        uses_tls ? TlsHello(tls_.get()) : std::string(kPreface, sizeof(kPreface) - 1);
    if (hello.empty()) return Unreached("TLS", "no hello");
    const ProbeClock::time_point end = ProbeClock::now() + options_.timeout;
    const OwnedDescriptor client(
        socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (client.get() < 0) return Unreached("socket", std::strerror(errno));
    TellOwn(client.get(), address);
    if (absl::Status connected = Connect(client.get(), address, end); !connected.ok()) {
      return connected;
    }
    // An empty socket takes it whole.
    if (send(client.get(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(hello.size())) {
      return Unreached("send", std::strerror(errno));
    }
    return TakeAnswer(client.get(), uses_tls, end);
  }

  absl::Status Connect(int client, const SocketAddress& address, ProbeClock::time_point end) const {
    constexpr int kRetryMs = 10;
    while (connect(client, address.get(), address.size) != 0) {
      const int error = errno;
      if (error == EINPROGRESS) return AwaitConnected(client, end);
      // A UNIX socket's queue is full: whoever fills it keeps others waiting, and is accepted.
      pollfd stopped{wake_.get(), POLLIN, 0};
      const bool tries_again =
          error == EAGAIN && ProbeClock::now() < end && poll(&stopped, 1, kRetryMs) == 0;
      if (!tries_again) return Unreached("connect", std::strerror(error));
    }
    return CheckIsOwn(client, address);
  }

  absl::Status AwaitConnected(int client, ProbeClock::time_point end) const {
    if (!Await(pollfd{client, POLLOUT, 0}, end)) return Unreached("connect", "no answer");
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? absl::OkStatus() : Unreached("connect", std::strerror(error));
  }

  // Somebody may have put another socket in its file's place.
  static absl::Status CheckIsOwn(int client, const SocketAddress& address) {
    if (address.storage.ss_family != AF_UNIX) return absl::OkStatus();
    ucred listener{};
    socklen_t size = sizeof(listener);
    getsockopt(client, SOL_SOCKET, SO_PEERCRED, &listener, &size);
    if (listener.pid == getpid()) return absl::OkStatus();
    return Unreached("connect",
                     absl::StrCat("another process listens there (pid ", listener.pid, ")"));
  }

  // The address of this host at which the server listens is one to come from, too.
  void TellOwn(int client, SocketAddress own) const {
    if (own.storage.ss_family == AF_UNIX || !options_.before_connect) return;
    SetPort(own, 0);
    auto* const at = reinterpret_cast<sockaddr*>(&own.storage);
    if (bind(client, at, own.size) == 0 && getsockname(client, at, &own.size) == 0) {
      options_.before_connect(own);
    }
  }

  absl::Status TakeAnswer(int client, bool uses_tls, ProbeClock::time_point end) const {
    const std::size_t wanted = uses_tls ? 1 : kFrameHeaderBytes;
    std::string answer;
    while (answer.size() < wanted) {
      if (!Await(pollfd{client, POLLIN, 0}, end)) {
        return Unreached("answer", absl::StrCat("none within ", options_.timeout.count(), " ms"));
      }
      char buffer[256];
      const ssize_t count = recv(client, buffer, sizeof(buffer), 0);
      if (count == 0) return Unreached("answer", "the connection was closed");
      if (count < 0) return Unreached("answer", std::strerror(errno));
      answer.append(buffer, static_cast<std::size_t>(count));
    }
    const bool is_right = uses_tls ? answer[0] == kTlsHandshake : answer[3] == kSettingsFrame;
    return is_right ? absl::OkStatus() : Unreached("answer", "is not what a server says first");
  }

  // Until `event`, which is true, or until `end` or the end of this object. What is there already
  // counts, however late the process, which somebody may have stopped, comes to look.
  bool Await(std::optional<pollfd> event, ProbeClock::time_point end) const {
    while (true) {
      pollfd events[] = {{wake_.get(), POLLIN, 0}, event.value_or(pollfd{-1, 0, 0})};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - ProbeClock::now());
      const int count = poll(events, 2, static_cast<int>(std::max<std::int64_t>(0, left.count())));
      if (count < 0 && errno == EINTR) continue;
      return count > 0 && events[0].revents == 0;
    }
  }

  const SelfProbeOptions options_;
  const OwnedDescriptor wake_;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> tls_;  // null: no TLS
  std::jthread thread_;
};

}  // namespace

void Reach::Count(bool succeeded, std::chrono::milliseconds took,
                  std::chrono::milliseconds counted_max) {
  if (succeeded) {
    *this = Reach();
    return;
  }
  ++failures_;
  failed_for_ += std::min(took, counted_max);
}

absl::StatusOr<std::unique_ptr<SelfProbe>> SelfProbe::Start(SelfProbeOptions options) {
  OwnedDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) {
    return absl::ResourceExhaustedError(absl::StrCat("self-probe: ", std::strerror(errno)));
  }
  return std::make_unique<Prober>(std::move(options), std::move(wake));
}

}  // namespace warpfold
