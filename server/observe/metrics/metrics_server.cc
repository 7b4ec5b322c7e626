#include "server/observe/metrics/metrics_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "prometheus/text_serializer.h"
#include "server/observe/metrics/page_socket.h"
#include "server/system/host_port.h"
#include "server/system/owned_descriptor.h"

namespace warpfold {
namespace {

using PageClock = std::chrono::steady_clock;

constexpr int kBacklog = 128;
// So that those who are connected are served between those who come.
constexpr int kAcceptsInARow = 16;
// What accept is left alone for when the process has no descriptor for it.
constexpr std::chrono::milliseconds kAcceptPause{100};

absl::Status CannotListen(const std::string& address, const char* why) {
  return absl::UnavailableError(
      absl::StrCat("metrics-address: cannot listen on ", address, ": ", why));
}

// errno says why on a negative one.
OwnedDescriptor ListenAt(const SocketAddress& at) {
  OwnedDescriptor listener(
      socket(at.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0) return listener;
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.get(), at.get(), at.size) != 0 || listen(listener.get(), kBacklog) != 0) {
    return OwnedDescriptor(-1);
  }
  return listener;
}

// A name may have addresses of both families: IPv4 first, as those who scrape do.
absl::StatusOr<OwnedDescriptor> ListenOn(const std::string& address) {
  std::vector<SocketAddress> found = Resolve(*ParseHostPort(address));
  std::stable_partition(found.begin(), found.end(),
                        [](const SocketAddress& at) { return at.get()->sa_family == AF_INET; });
  const char* why = "no such address";
  for (const SocketAddress& at : found) {
    OwnedDescriptor listener = ListenAt(at);
    if (listener.get() >= 0) return listener;
    why = std::strerror(errno);
  }
  return CannotListen(address, why);
}

std::string HttpAnswer(absl::string_view status, absl::string_view body,
                       absl::string_view headers = "") {
  return absl::StrCat("HTTP/1.1 ", status,
                      "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                      "Content-Length: ",
                      body.size(), "\r\nConnection: close\r\n", headers, "\r\n", body);
}

// The value of the header; none: it is not there. Of two the answer is neither's.
std::optional<std::string> HeaderOf(absl::string_view request, absl::string_view name) {
  std::optional<std::string> value;
  for (const absl::string_view line : absl::StrSplit(request, "\r\n")) {
    const std::pair<absl::string_view, absl::string_view> header =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (!absl::EqualsIgnoreCase(header.first, name)) continue;
    const absl::string_view text = absl::StripAsciiWhitespace(header.second);
    value = value.has_value() ? "" : std::string(text);
  }
  return value;
}

// Of the thread that calls: to write to one fails, and does not end the process.
void IgnoreGoneClients() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

class PageServer final : public MetricsServer {
 public:
  PageServer(MetricsServerOptions options, OwnedDescriptor listener, OwnedDescriptor wake,
             std::vector<std::shared_ptr<prometheus::Collectable>> pages)
      : options_(std::move(options)),
        pages_(std::move(pages)),
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        port_(PortOf(OwnAddressOf(listener_.get()))),
        thread_([this](const std::stop_token& stop) { Serve(stop); }) {}

  ~PageServer() override {
    thread_.request_stop();
    eventfd_write(wake_.get(), 1);
  }

  int port() const override { return port_; }

 private:
  using Step = PageSocket::Step;

  struct Connection {
    PageSocket socket;
    PageClock::time_point end;
    std::string request = {};
    std::string answer = {};
    absl::string_view unsent = {};  // of the answer
    std::string rest = {};          // what came behind the request, and is left alone
  };

  void Serve(const std::stop_token& stop) {
    IgnoreGoneClients();
    while (true) {
      Await();
      if (stop.stop_requested()) return;
      const PageClock::time_point now = PageClock::now();
      for (auto at = connections_.begin(); at != connections_.end();) {
        at = at->end > now && GoOn(*at) ? std::next(at) : connections_.erase(at);
      }
      if (accepts_from_ <= now) Accept(now);
    }
  }

  // Until there is something to do.
  void Await() {
    const PageClock::time_point now = PageClock::now();
    std::vector<pollfd> events{{wake_.get(), POLLIN, 0}};
    std::optional<PageClock::time_point> next;
    if (accepts_from_ <= now) {
      events.push_back({listener_.get(), POLLIN, 0});
    } else {
      next = accepts_from_;
    }
    for (const Connection& connection : connections_) {
      events.push_back({connection.socket.descriptor(), connection.socket.awaited(), 0});
      next = std::min(next.value_or(connection.end), connection.end);
    }
    int timeout_ms = -1;
    if (next.has_value()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now);
      timeout_ms = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    }
    poll(events.data(), events.size(), timeout_ms);
  }

  void Accept(PageClock::time_point now) {
    for (int i = 0; i < kAcceptsInARow; ++i) {
      OwnedDescriptor socket(
          accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.get() >= 0) {
        if (connections_.size() == kConnectionsMax) connections_.pop_front();
        const auto tls = options_.tls_context != nullptr ? options_.tls_context() : nullptr;
        connections_.push_back(
            {.socket = PageSocket(std::move(socket), tls.get()), .end = now + kClientTimeout});
      } else if (errno == EMFILE || errno == ENFILE) {
        // Who waits takes the place of the oldest, or waits on.
        accepts_from_ = now + kAcceptPause;
        if (!connections_.empty()) connections_.pop_front();
        return;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return;  // nobody waits
      }
    }
  }

  // Takes and sends what it can without waiting. False: there is nothing more to do.
  bool GoOn(Connection& connection) const {
    if (connection.answer.empty()) {
      const Step step = TakeRequest(connection);
      if (step != Step::kDone) return step == Step::kWaits;
      connection.unsent = connection.answer;
    }
    while (!connection.unsent.empty()) {
      const Step step = connection.socket.Write(connection.unsent);
      if (step != Step::kDone) return step == Step::kWaits;
      if (connection.unsent.empty()) connection.socket.EndWriting();
    }
    // The answer has gone. Closed before the client's own end, with bytes of its that nobody read,
    // the connection would be reset under it.
    connection.rest.clear();
    const Step step = connection.socket.Read(connection.rest);
    return step != Step::kEnded;
  }

  // kDone: it is answered.
  Step TakeRequest(Connection& connection) const {
    while (true) {
      const Step step = connection.socket.Read(connection.request);
      if (step != Step::kDone) return step;
      if (connection.request.find("\r\n\r\n") != std::string::npos) {
        connection.answer = Answer(connection);
        return Step::kDone;
      }
      if (connection.request.size() > kRequestBytesMax) {
        connection.answer = HttpAnswer("431 Request Header Fields Too Large", "");
        return Step::kDone;
      }
    }
  }

  // "GET /metrics HTTP/1.1\r\n..."
  std::string Answer(const Connection& connection) const {
    const std::string& request = connection.request;
    const std::vector<absl::string_view> words = absl::StrSplit(
        absl::string_view(request).substr(0, request.find("\r\n")), absl::MaxSplits(' ', 2));
    if (words.size() < 3 || words[2].substr(0, 5) != "HTTP/") {
      return HttpAnswer("400 Bad Request", "");
    }
    if (words[0] != "GET" && words[0] != "HEAD") return HttpAnswer("405 Method Not Allowed", "");
    std::string answer = AnswerGet(connection, words[1].substr(0, words[1].find('?')));
    if (words[0] == "HEAD") answer.resize(answer.find("\r\n\r\n") + 4);
    return answer;
  }

  std::string AnswerGet(const Connection& connection, absl::string_view path) const {
    switch (AccessOf(connection)) {
      case PageAccess::kGranted:
        break;
      case PageAccess::kUnauthenticated:
        return HttpAnswer("401 Unauthorized", "the page is for callers with a token\n",
                          "WWW-Authenticate: Bearer\r\n");
      case PageAccess::kForbidden:
        return HttpAnswer("403 Forbidden", "the caller lacks the scope metrics\n");
    }
    if (path != "/metrics") return HttpAnswer("404 Not Found", "the page is /metrics\n");
    return HttpAnswer("200 OK", Page());
  }

  PageAccess AccessOf(const Connection& connection) const {
    if (options_.access == nullptr) return PageAccess::kGranted;
    const absl::string_view request(connection.request);
    return options_.access(
        {.peer = connection.socket.Peer(),
         .certificate_names = connection.socket.CertificateNames(),
         .authorization = HeaderOf(request.substr(0, request.find("\r\n\r\n")), "authorization")});
  }

  std::string Page() const {
    std::vector<prometheus::MetricFamily> families;
    for (const std::shared_ptr<prometheus::Collectable>& page : pages_) {
      std::vector<prometheus::MetricFamily> more = page->Collect();
      std::move(more.begin(), more.end(), std::back_inserter(families));
    }
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, families);
    return std::move(text).str();
  }

  const MetricsServerOptions options_;
  const std::vector<std::shared_ptr<prometheus::Collectable>> pages_;
  const OwnedDescriptor listener_;
  const OwnedDescriptor wake_;
  const int port_;
  std::list<Connection> connections_;  // the thread's own, the oldest first
  PageClock::time_point accepts_from_{};
  std::jthread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    MetricsServerOptions options, std::vector<std::shared_ptr<prometheus::Collectable>> pages) {
  absl::StatusOr<OwnedDescriptor> listener = ListenOn(options.address);
  if (!listener.ok()) return listener.status();
  OwnedDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return CannotListen(options.address, std::strerror(errno));
  return std::make_unique<PageServer>(std::move(options), *std::move(listener), std::move(wake),
                                      std::move(pages));
}

}  // namespace warpfold
