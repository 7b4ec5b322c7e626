#include "server/frontend/grpc/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/core/admission/peer_address.h"
#include "server/core/base/caller_share.h"
#include "server/system/owned_descriptor.h"

namespace warpfold {
namespace {

// Where the process, or the system, has no descriptor left, which a socket that listens does not
// tell: it is ready all the same.
constexpr int kShortageMs = 100;
// Of one socket, before ends and the other sockets are looked at.
constexpr int kAcceptedAtOnce = 64;

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// Of a connection nothing is asked for (`events` EPOLLET alone): the kernel tells its end, in both
// directions, anyway.
bool Watch(int epoll, int descriptor, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = descriptor}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// Its client has closed it already, or ended what it sends, which ends it for gRPC, too: whoever
// connects to no purpose costs no more than that.
bool HasGone(int connection) {
  constexpr short kEnds = POLLRDHUP | POLLHUP | POLLERR;
  pollfd state{connection, kEnds, 0};
  return poll(&state, 1, 0) == 1 && (state.revents & kEnds) != 0;
}

ucred ProcessAt(int unix_connection) {
  ucred process{};
  socklen_t size = sizeof(process);
  getsockopt(unix_connection, SOL_SOCKET, SO_PEERCRED, &process, &size);
  return process;
}

class EpollAcceptor final : public Acceptor {
 public:
  EpollAcceptor(AcceptorOptions options, std::vector<Door> doors, OwnedDescriptor epoll,
                OwnedDescriptor wake)
      : options_(std::move(options)),
        doors_(std::move(doors)),
        epoll_(std::move(epoll)),
        wake_(std::move(wake)),
        connections_max_(options_.connections_max) {
    counts_.max = options_.connections_max.count;
    for (const Door& door : doors_) {
      for (const int listener : door.listeners) hand_over_.emplace(listener, &door.hand_over);
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  ~EpollAcceptor() override {
    thread_.request_stop();
    eventfd_write(wake_.get(), 1);
    thread_.join();
    absl::MutexLock lock(&mutex_);
    for (const auto& [second, client] : open_) close(second);
  }

  void StopAccepting() override {
    is_stopping_ = true;
    eventfd_write(wake_.get(), 1);
    stopped_.WaitForNotification();
  }

  void ExpectOwn(const SocketAddress& own) override {
    absl::MutexLock lock(&mutex_);
    own_ = NameOf(own);
  }

  void SetConnectionsMax(const ConnectionsMax& connections_max) override {
    absl::MutexLock lock(&mutex_);
    connections_max_ = connections_max;
    counts_.max = connections_max.count;
  }

  std::int64_t EndAll() override {
    absl::MutexLock lock(&mutex_);
    for (const auto& [second, client] : open_) shutdown(second, SHUT_RDWR);
    return static_cast<std::int64_t>(open_.size());
  }

  ConnectionCounts counts() const override {
    absl::MutexLock lock(&mutex_);
    return counts_;
  }

 private:
  // One that has been accepted. Plain value.
  struct Arrived {
    int descriptor;
    SocketAddress from;
    std::string client;  // that it belongs to; empty: this process itself
  };

  void Run(const std::stop_token& stop) {
    std::array<epoll_event, 256> events{};
    while (!stop.stop_requested()) {
      const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   is_short_ ? kShortageMs : -1);
      if (is_short_) SetShort(false);
      for (int i = 0; i < count; ++i) See(events[static_cast<std::size_t>(i)]);
      if (is_stopping_ && !stopped_.HasBeenNotified()) {
        for (const auto& [listener, hand_over] : hand_over_) Forget(listener);
        hand_over_.clear();
        stopped_.Notify();
      }
    }
  }

  void See(const epoll_event& event) {
    if (event.data.fd == wake_.get()) {
      eventfd_t value = 0;
      eventfd_read(wake_.get(), &value);
    } else if (const auto door = hand_over_.find(event.data.fd); door != hand_over_.end()) {
      if (!is_stopping_) AcceptAt(door->first, *door->second);
    } else if ((event.events & EPOLLHUP) != 0) {
      End(event.data.fd);
    }
  }

  // Its own end would not do it for one of which gRPC has another descriptor.
  void Forget(int descriptor) const { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

  void AcceptAt(int listener, const std::function<void(int, int)>& hand_over) {
    for (int i = 0; i < kAcceptedAtOnce && !is_short_; ++i) {
      std::optional<Arrived> arrived = Accept(listener);
      if (!arrived.has_value()) return;
      if (!Take(*arrived)) {
        close(arrived->descriptor);
        continue;
      }
      hand_over(listener, arrived->descriptor);
    }
  }

  // None: nobody waits there, or who did has gone, or there is no descriptor.
  std::optional<Arrived> Accept(int listener) {
    Arrived arrived{.from = {.size = sizeof(sockaddr_storage)}};
    arrived.descriptor = accept4(listener, reinterpret_cast<sockaddr*>(&arrived.from.storage),
                                 &arrived.from.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (arrived.descriptor < 0) {
      if (IsShortage(errno)) WaitForDescriptors(errno);
      return std::nullopt;
    }
    if (arrived.from.storage.ss_family == AF_UNIX) {
      const ucred process = ProcessAt(arrived.descriptor);
      if (process.pid != getpid()) arrived.client = absl::StrCat("user ", process.uid);
      return arrived;
    }
    absl::MutexLock lock(&mutex_);
    if (NameOf(arrived.from) == own_) {
      own_.clear();
    } else {
      arrived.client = AddressOf(*arrived.from.get());
    }
    return arrived;
  }

  // As gRPC's own listeners do with a connection.
  void SetOptions(int connection) const {
    const int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const auto timeout = static_cast<unsigned>(options_.user_timeout.count());
    setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
  }

  // False: it is refused, or over.
  bool Take(const Arrived& arrived) {
    if (HasGone(arrived.descriptor)) return false;
    const absl::Status refused = Count(arrived);
    if (!refused.ok()) {
      if (options_.on_refused) options_.on_refused(PeerOf(arrived), refused);
      return false;
    }
    if (arrived.from.storage.ss_family != AF_UNIX) SetOptions(arrived.descriptor);
    return true;
  }

  // Has it counted until its end, or refused.
  absl::Status Count(const Arrived& arrived) {
    absl::MutexLock lock(&mutex_);
    const bool is_own = arrived.client.empty();
    if (absl::Status room = is_own ? absl::OkStatus() : CheckRoom(arrived); !room.ok()) return room;
    const int second = fcntl(arrived.descriptor, F_DUPFD_CLOEXEC, 0);
    if (second < 0 || !Watch(epoll_.get(), second, EPOLLET)) {
      absl::Status none = NoDescriptor(errno);
      if (second >= 0) close(second);
      ++counts_.refused_descriptors;
      return none;
    }
    open_.emplace(second, arrived.client);
    if (is_own) return absl::OkStatus();
    ++counts_.accepted;
    ++counts_.open;
    clients_.Add(arrived.client, 0);
    return absl::OkStatus();
  }

  absl::Status CheckRoom(const Arrived& arrived) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::int64_t max = connections_max_.count;
    if (counts_.open >= max) {
      ++counts_.refused_full;
      return absl::ResourceExhaustedError(absl::StrCat(
          "connections: all ", max, " that there may be are open (", connections_max_.by, ")"));
    }
    const std::int64_t held = clients_.Of(arrived.client).count;
    if (!IsBeyondShare({held, counts_.open, max}, 1)) return absl::OkStatus();
    ++counts_.refused_share;
    return absl::ResourceExhaustedError(absl::StrCat(
        "connections: its ", arrived.from.storage.ss_family == AF_UNIX ? "user" : "address",
        " has ", held, ", all have ", counts_.open, " of ", max, " (", connections_max_.by,
        "), and none has more than it leaves to others"));
  }

  static absl::Status NoDescriptor(int error) {
    return absl::ResourceExhaustedError(absl::StrCat("connections: ", std::strerror(error)));
  }

  void End(int second) {
    absl::MutexLock lock(&mutex_);
    const auto ended = open_.find(second);
    if (ended == open_.end()) return;
    if (!ended->second.empty()) {
      clients_.Remove(ended->second, 0);
      --counts_.open;
    }
    open_.erase(ended);
    Forget(second);
    close(second);
  }

  void WaitForDescriptors(int error) {
    SetShort(true);
    if (options_.on_refused) options_.on_refused("", NoDescriptor(error));
    absl::MutexLock lock(&mutex_);
    ++counts_.shortages;
  }

  // Nobody is accepted for a while: sockets that listen would wake the thread without end.
  void SetShort(bool is_short) {
    is_short_ = is_short;
    for (const auto& [listener, hand_over] : hand_over_) {
      epoll_event event{.events = is_short ? 0U : EPOLLIN, .data = {.fd = listener}};
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener, &event);
    }
  }

  // An address of IPv4 has one name, also as one of IPv6.
  static std::string NameOf(const SocketAddress& address) {
    return absl::StrCat(AddressOf(*address.get()), ":", PortOf(address));
  }
  static std::string PeerOf(const Arrived& arrived) {
    const std::string numbers = ToString(arrived.from);
    return numbers.empty() ? arrived.client : numbers;
  }

  const AcceptorOptions options_;
  const std::vector<Door> doors_;
  const OwnedDescriptor epoll_;
  const OwnedDescriptor wake_;
  std::atomic<bool> is_stopping_{false};
  absl::Notification stopped_;
  // The thread's own.
  absl::flat_hash_map<int, const std::function<void(int, int)>*> hand_over_;  // by listener
  bool is_short_ = false;                                                     // of descriptors
  mutable absl::Mutex mutex_;
  ConnectionsMax connections_max_ ABSL_GUARDED_BY(mutex_);
  std::string own_ ABSL_GUARDED_BY(mutex_);  // the name of the one to come; empty: none
  // By its second descriptor: the client that it belongs to; empty: this process.
  absl::flat_hash_map<int, std::string> open_ ABSL_GUARDED_BY(mutex_);
  Holdings clients_ ABSL_GUARDED_BY(mutex_);
  ConnectionCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(AcceptorOptions options,
                                                          std::vector<Door> doors) {
  OwnedDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  OwnedDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bool is_made = epoll.get() >= 0 && Watch(epoll.get(), wake.get(), EPOLLIN);
  for (const Door& door : doors) {
    for (const int listener : door.listeners) {
      is_made = is_made && Watch(epoll.get(), listener, EPOLLIN);
    }
  }
  if (!is_made) {
    return absl::ResourceExhaustedError(
        absl::StrCat("connections: cannot be accepted: ", std::strerror(errno)));
  }
  return std::make_unique<EpollAcceptor>(std::move(options), std::move(doors), std::move(epoll),
                                         std::move(wake));
}

}  // namespace warpfold
