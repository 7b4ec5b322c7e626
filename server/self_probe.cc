#include "server/self_probe.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/system/host_port.h"
#include "server/system/owned_descriptor.h"
#include "server/system/socket_file.h"

namespace warpfold {
namespace {

using ProbeClock = std::chrono::steady_clock;

// HTTP/2's preface and settings without any.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
constexpr std::size_t kFrameHeaderBytes = 9;  // its fourth is the frame's type
constexpr char kSettingsFrame = 4;
constexpr char kTlsHandshake = 22;  // the first byte of a record

struct ProbedSocket {
  SocketAddress at;
  // A name may have addresses at which the server does not listen. One that has answered has to
  // answer again.
  bool has_answered = false;
};

// One of the server's, which is several of the system's where it is a name.
struct ProbedAddress {
  std::string name;
  std::vector<ProbedSocket> sockets;
  bool uses_tls = false;
};

std::vector<SocketAddress> SocketsOf(const UnixSocket& socket) {
  const sockaddr_un at = AddressOf(socket);
  SocketAddress address{.size = sizeof(at)};
  std::memcpy(&address.storage, &at, sizeof(at));
  return {address};
}

std::vector<SocketAddress> SocketsOf(const HostPort& address) {
  return Resolve(Reachable(address));
}

std::vector<ProbedAddress> ProbedOf(const SelfProbeOptions& options) {
  std::vector<ProbedAddress> probed;
  for (const ListenAddress& address : options.addresses) {
    ProbedAddress& added = probed.emplace_back();
    added.name = ToString(address);
    added.uses_tls = options.uses_tls && address.tcp() != nullptr;
    for (const SocketAddress& socket :
         std::visit([](const auto& at) { return SocketsOf(at); }, address.at)) {
      added.sockets.push_back({socket});
    }
  }
  return probed;
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
        addresses_(ProbedOf(options_)),
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

  absl::Status Probe() {
    for (ProbedAddress& address : addresses_) {
      if (const absl::Status status = Probe(address); !status.ok()) {
        return Unreached(address.name, status.message());
      }
    }
    return absl::OkStatus();
  }

  // Every socket of it that has ever answered; at least one.
  absl::Status Probe(ProbedAddress& address) const {
    absl::Status failed;
    bool has_answered = false;
    for (ProbedSocket& socket : address.sockets) {
      const absl::Status status = Probe(socket.at, address.uses_tls);
      if (status.ok()) {
        socket.has_answered = has_answered = true;
      } else if (failed.ok() || socket.has_answered) {
        failed = status;
      }
      if (!status.ok() && socket.has_answered) return status;
    }
    if (has_answered) return absl::OkStatus();
    return failed.ok() ? Unreached("resolve", "the name has no address") : failed;
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
    if (connect(client.get(), address.get(), address.size) != 0) {
      if (errno != EINPROGRESS) return Unreached("connect", std::strerror(errno));
      if (!Await(pollfd{client.get(), POLLOUT, 0}, end)) return Unreached("connect", "no answer");
      int error = 0;
      socklen_t size = sizeof(error);
      getsockopt(client.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return Unreached("connect", std::strerror(error));
    }
    // An empty socket takes it whole.
    if (send(client.get(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(hello.size())) {
      return Unreached("send", std::strerror(errno));
    }
    return TakeAnswer(client.get(), uses_tls, end);
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
  std::vector<ProbedAddress> addresses_;                    // the thread's own
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
