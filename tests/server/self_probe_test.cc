#include "server/self_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/frontend/grpc/tls.h"
#include "server/system/owned_descriptor.h"
#include "server/system/socket_file.h"
#include "tests/e2e/certificates.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEver{1'000'000};

TEST(ReachTest, TheThirdFailureInARowCounts) {
  Reach reach;
  for (int i = 0; i < 2; ++i) {
    for (int failures = 1; failures <= 2; ++failures) {
      reach.Count(false, milliseconds(1), kEver);
      EXPECT_TRUE(reach.reachable());
    }
    reach.Count(true, milliseconds(1), kEver);
  }
  for (int failures = 1; failures <= 3; ++failures) reach.Count(false, milliseconds(1), kEver);
  EXPECT_FALSE(reach.reachable());
  reach.Count(true, milliseconds(1), kEver);
  EXPECT_TRUE(reach.reachable());
}

TEST(ReachTest, TheTimeOfFailuresInARowIsSummedUp) {
  Reach reach;
  reach.Count(true, milliseconds(1000), kEver);
  EXPECT_EQ(reach.failed_for(), milliseconds(0));
  reach.Count(false, milliseconds(1000), kEver);
  reach.Count(false, milliseconds(3000), kEver);
  EXPECT_EQ(reach.failed_for(), milliseconds(4000));
  reach.Count(true, milliseconds(1000), kEver);
  EXPECT_EQ(reach.failed_for(), milliseconds(0));
}

TEST(ReachTest, AnHourInWhichTheProcessWasStoppedIsNoHourOfFailure) {
  Reach reach;
  reach.Count(false, std::chrono::hours(1), milliseconds(3000));
  EXPECT_EQ(reach.failed_for(), milliseconds(3000));
  EXPECT_TRUE(reach.reachable());
}

// The first probes of a server, in order.
class Probed {
 public:
  explicit Probed(SelfProbeOptions options) {
    options.every = milliseconds(1);
    options.on_probe = [this](const absl::Status& status, const Reach& reach) {
      absl::MutexLock lock(&mutex_);
      ++count_;
      last_ = status;
      is_reachable_ = reach.reachable();
    };
    auto probe = SelfProbe::Start(std::move(options));
    EXPECT_TRUE(probe.ok()) << probe.status();
    probe_ = *std::move(probe);
  }

  // What `count` more probes end with.
  absl::Status After(int count) {
    absl::MutexLock lock(&mutex_);
    const int wanted = count_ + count;
    const auto are_done = [this, wanted]()
                              ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ >= wanted; };
    mutex_.Await(absl::Condition(&are_done));
    return last_;
  }
  bool is_reachable() {
    absl::MutexLock lock(&mutex_);
    return is_reachable_;
  }

 private:
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_ ABSL_GUARDED_BY(mutex_);
  bool is_reachable_ ABSL_GUARDED_BY(mutex_) = true;
  std::unique_ptr<SelfProbe> probe_;  // the last: its thread uses the others
};

// `port` of the address's host.
std::vector<BoundAddress> At(int port, const std::string& address = "127.0.0.1:0") {
  HostPort at = *ParseHostPort(address);
  at.port = port;
  return {{{at}, Resolve(at)}};
}

BoundAddress At(const UnixSocket& socket) {
  const sockaddr_un at = AddressOf(socket);
  SocketAddress address{.size = sizeof(at)};
  std::memcpy(&address.storage, &at, sizeof(at));
  return {{socket}, {address}};
}

// gRPC's own server, whose methods are none.
class Served {
 public:
  // "host:port" or "unix:/path"
  explicit Served(const std::string& address,
                  const std::shared_ptr<grpc::ServerCredentials>& credentials =
                      grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, credentials, &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr) << address;
  }
  ~Served() { server_->Shutdown(); }
  int port() const { return port_; }

 private:
  int port_ = 0;
  grpc::CallbackGenericService service_;
  std::unique_ptr<grpc::Server> server_;
};

// A port whose connections nobody takes: the kernel does, as for a listener that gave up.
class Deaf {
 public:
  Deaf() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_.get(), 128), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  int port() const { return port_; }
  // Where the next of them comes from.
  std::string NextPeer() const {
    SocketAddress peer{.size = sizeof(sockaddr_storage)};
    const OwnedDescriptor next(
        accept(listener_.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.size));
    return ToString(peer);
  }

 private:
  const OwnedDescriptor listener_;
  int port_ = 0;
};

TEST(SelfProbeTest, AServerIsReachedWhereverItListens) {
  for (const std::string address : {"127.0.0.1:0", "0.0.0.0:0", "localhost:0", "127.0.0.2:0"}) {
    const Served served(address);
    Probed probed({.addresses = At(served.port(), address)});
    EXPECT_TRUE(probed.After(10).ok()) << address << ": " << probed.After(1);
  }
}

TEST(SelfProbeTest, TellsWhereItWillComeFrom) {
  const Deaf deaf;
  absl::Mutex mutex;
  std::string told;
  const auto is_told = [&told] { return !told.empty(); };
  const Probed probed({.addresses = At(deaf.port()),
                       .before_connect =
                           [&](const SocketAddress& own) {
                             absl::MutexLock lock(&mutex);
                             if (told.empty()) told = ToString(own);
                           },
                       .timeout = kEver});
  absl::MutexLock lock(&mutex);
  mutex.Await(absl::Condition(&is_told));
  EXPECT_EQ(deaf.NextPeer(), told);
  EXPECT_EQ(told.substr(0, 10), "127.0.0.1:");
}

TEST(SelfProbeTest, AServerWithTlsIsReachedWithoutACertificate) {
  const e2e::Authority authority;
  const e2e::KeyAndCertificate own = authority.Issue();
  const UniqueTempFolder folder;
  for (const bool is_mutual : {false, true}) {
    auto tls = TlsCertificate::Load(
        {.certificate = folder.Write("cert.pem", own.certificate),
         .private_key = folder.Write("key.pem", own.key),
         .client_ca = is_mutual ? folder.Write("ca.pem", authority.certificate()) : ""});
    ASSERT_TRUE(tls.ok()) << tls.status();
    const Served served("127.0.0.1:0", (*tls)->Credentials());
    Probed probed({.addresses = At(served.port()), .uses_tls = true});
    EXPECT_TRUE(probed.After(5).ok()) << probed.After(1);
  }
}

TEST(SelfProbeTest, EveryAddressHasToAnswer) {
  const UniqueTempFolder folder;
  const UnixSocket socket{.path = folder.Path("a.sock")};
  const Served tcp("127.0.0.1:0");
  const Served local("unix:" + socket.path);
  std::vector<BoundAddress> addresses = At(tcp.port());
  addresses.push_back(At(socket));
  Probed probed({.addresses = addresses});
  EXPECT_TRUE(probed.After(2).ok()) << probed.After(1);
  // Somebody takes the file away: nobody new can connect there.
  std::filesystem::remove(socket.path);
  EXPECT_EQ(probed.After(4), absl::UnavailableError(absl::StrCat(
                                 "unix:", socket.path, ": connect: No such file or directory")));
  EXPECT_FALSE(probed.is_reachable());
}

// A socket with its file, at which nobody listens.
OwnedDescriptor Bind(const UnixSocket& socket) {
  const sockaddr_un at = AddressOf(socket);
  OwnedDescriptor bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bind(bound.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  return bound;
}

// Whoever fills the queue keeps the probe waiting, as other clients.
TEST(SelfProbeTest, AFullQueueOfAUnixSocketIsWaitedFor) {
  const UniqueTempFolder folder;
  const UnixSocket socket{.path = folder.Path("a.sock")};
  const sockaddr_un at = AddressOf(socket);
  const OwnedDescriptor listener = Bind(socket);
  ASSERT_EQ(listen(listener.get(), 0), 0);
  const auto connect_to = [&at] {
    OwnedDescriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool is_in =
        connect(client.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0;
    return is_in ? std::move(client) : OwnedDescriptor(-1);
  };
  std::vector<OwnedDescriptor> filling;
  while (true) {
    OwnedDescriptor client = connect_to();
    if (client.get() < 0) break;
    filling.push_back(std::move(client));
  }
  Probed probed({.addresses = {At(socket)}, .timeout = kEver});
  // The next one after those that fill it is the probe's.
  for (std::size_t i = 0; i < filling.size(); ++i) {
    const OwnedDescriptor taken(accept(listener.get(), nullptr, nullptr));
  }
  const OwnedDescriptor probe(accept(listener.get(), nullptr, nullptr));
  const char settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
  EXPECT_EQ(send(probe.get(), settings, sizeof(settings), 0), sizeof(settings));
  EXPECT_TRUE(probed.After(1).ok());
}

TEST(SelfProbeTest, AnotherProcessAtItsSocketIsNotTheServer) {
  const UniqueTempFolder folder;
  const UnixSocket socket{.path = folder.Path("a.sock")};
  const OwnedDescriptor listener = Bind(socket);
  const pid_t other = fork();  // whose socket it is: who calls listen
  if (other == 0) {
    listen(listener.get(), 8);
    pause();
    _exit(0);
  }
  {
    Probed probed({.addresses = {At(socket)}, .timeout = milliseconds(10)});
    const std::string why = absl::StrCat(
        "unix:", socket.path, ": connect: another process listens there (pid ", other, ")");
    while (probed.After(1) != absl::UnavailableError(why)) {  // at first nobody does
    }
  }
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

// gRPC asks for the certificate once a listener.
TEST(SelfProbeTest, TwoListenersHaveOneCertificate) {
  const e2e::Authority authority;
  const e2e::KeyAndCertificate own = authority.Issue();
  const UniqueTempFolder folder;
  auto tls = TlsCertificate::Load({.certificate = folder.Write("cert.pem", own.certificate),
                                   .private_key = folder.Write("key.pem", own.key)});
  ASSERT_TRUE(tls.ok()) << tls.status();
  const Served first("127.0.0.1:0", (*tls)->Credentials());
  const Served second("127.0.0.2:0", (*tls)->Credentials());
  std::vector<BoundAddress> addresses = At(first.port());
  addresses.push_back(At(second.port(), "127.0.0.2:0").front());
  Probed probed({.addresses = addresses, .uses_tls = true});
  EXPECT_TRUE(probed.After(3).ok()) << probed.After(1);
}

TEST(SelfProbeTest, ADeafPortIsNotReached) {
  const Deaf deaf;
  for (const bool uses_tls : {false, true}) {
    Probed probed(
        {.addresses = At(deaf.port()), .uses_tls = uses_tls, .timeout = milliseconds(10)});
    EXPECT_EQ(probed.After(3), absl::UnavailableError(absl::StrCat("127.0.0.1:", deaf.port(),
                                                                   ": answer: none within 10 ms")));
    EXPECT_FALSE(probed.is_reachable());
  }
}

TEST(SelfProbeTest, AServerThatComesBackIsReachedAgain) {
  auto served = std::make_unique<Served>("127.0.0.1:0");
  const int port = served->port();
  Probed probed({.addresses = At(port)});
  EXPECT_TRUE(probed.After(1).ok());
  served = nullptr;
  EXPECT_EQ(probed.After(4), absl::UnavailableError(absl::StrCat("127.0.0.1:", port,
                                                                 ": connect: Connection refused")));
  served = std::make_unique<Served>("127.0.0.1:" + std::to_string(port));
  EXPECT_TRUE(probed.After(2).ok());
  EXPECT_TRUE(probed.is_reachable());
}

// gRPC's listener would not outlive it.
TEST(SelfProbeTest, WithoutDescriptorsItSaysSoAndGoesOn) {
  const Deaf deaf;
  Probed probed({.addresses = At(deaf.port()), .timeout = milliseconds(10)});
  const std::string name = absl::StrCat("127.0.0.1:", deaf.port(), ": ");
  const absl::Status with = absl::UnavailableError(name + "answer: none within 10 ms");
  EXPECT_EQ(probed.After(1), with);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status without = probed.After(2);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(without, absl::UnavailableError(name + "socket: Too many open files"));
  EXPECT_EQ(probed.After(2), with);
}

TEST(SelfProbeTest, WhatSpeaksAnotherProtocolIsNoServer) {
  const Served served("127.0.0.1:0");
  Probed probed({.addresses = At(served.port()), .uses_tls = true});
  EXPECT_FALSE(probed.After(1).ok());
}

TEST(SelfProbeTest, ItsEndWaitsForNoAnswer) {
  const Deaf deaf;
  const Probed probed({.addresses = At(deaf.port()), .timeout = kEver});
}

}  // namespace
}  // namespace warpfold
