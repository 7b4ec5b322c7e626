#include "server/frontend/grpc/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/system/listening_socket.h"
#include "server/system/owned_descriptor.h"

namespace warpfold {
namespace {

constexpr std::int64_t kMax = 8;

// The number that the next descriptor would have: nobody else makes one.
int NextDescriptor() {
  const OwnedDescriptor next(fcntl(0, F_DUPFD_CLOEXEC, 0));
  return next.get();
}

// While it lives the process gets so many more descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{static_cast<rlim_t>(NextDescriptor() + left), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class AcceptorTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(kMax); }

  void Start(std::int64_t connections_max) {
    acceptor_ = nullptr;
    auto acceptor = Acceptor::Start(
        {.connections_max = {.count = connections_max},
         .user_timeout = std::chrono::milliseconds(12'345),
         .on_refused =
             [this](const std::string& peer, const absl::Status& why) {
               absl::MutexLock lock(&mutex_);
               auto& said = peer.empty() ? shortages_ : refused_;
               said.push_back({peer, std::string(why.message())});
             }},
        {{.listeners = socket_.descriptors(), .hand_over = [this](int listener, int connection) {
            absl::MutexLock lock(&mutex_);
            EXPECT_EQ(listener, socket_.descriptors()[0]);
            accepted_.emplace_back(connection);
          }}});
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }

  sockaddr_in Server() const {
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(static_cast<in_port_t>(socket_.address().tcp()->port));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return server;
  }

  // A client whose address is of the loopback network, and which has not connected.
  static OwnedDescriptor At(const char* address) {
    OwnedDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in own{};
    own.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, address, &own.sin_addr), 1);
    EXPECT_EQ(bind(client.get(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
    return client;
  }
  void Connect(const OwnedDescriptor& client) const {
    const sockaddr_in server = Server();
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&server), sizeof(server)), 0);
  }
  // The next client, once it is accepted or refused.
  void Come(const char* address) {
    const std::size_t seen = Seen();
    clients_.push_back(At(address));
    Connect(clients_.back());
    AwaitSeen(seen + 1);
  }
  std::size_t Seen() {
    absl::MutexLock lock(&mutex_);
    return SeenLocked();
  }
  std::size_t SeenLocked() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return accepted_.size() + refused_.size();
  }
  void AwaitSeen(std::size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto are_seen = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return SeenLocked() >= count;
    };
    mutex_.Await(absl::Condition(&are_seen));
  }
  void AwaitOpen(std::int64_t count) const {
    while (acceptor_->counts().open != count) std::this_thread::yield();
  }

  // "" at the end.
  static std::string Hear(const OwnedDescriptor& client) {
    char byte = 0;
    return recv(client.get(), &byte, 1, 0) == 1 ? std::string(1, byte) : "";
  }

  ListeningSocket socket_ = *ListeningSocket::Open({HostPort{"127.0.0.1", 0}});
  std::vector<OwnedDescriptor> clients_;
  absl::Mutex mutex_;
  std::vector<OwnedDescriptor> accepted_ ABSL_GUARDED_BY(mutex_);
  // From where, and why.
  std::vector<std::pair<std::string, std::string>> refused_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, std::string>> shortages_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, HandsOverAndSeesTheEnd) {
  const int before = NextDescriptor();
  Come("127.0.0.1");
  EXPECT_EQ(acceptor_->counts().open, 1);
  EXPECT_EQ(acceptor_->counts().accepted, 1U);
  {
    absl::MutexLock lock(&mutex_);
    const int connection = accepted_[0].get();
    EXPECT_EQ(send(connection, "a", 1, MSG_NOSIGNAL), 1);
    unsigned timeout_ms = 0;
    socklen_t size = sizeof(timeout_ms);
    getsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, &size);
    EXPECT_EQ(timeout_ms, 12'345U);
    EXPECT_NE(fcntl(connection, F_GETFL) & O_NONBLOCK, 0);
  }
  EXPECT_EQ(Hear(clients_[0]), "a");
  // As gRPC does when a client has gone, or it wants one gone.
  {
    absl::MutexLock lock(&mutex_);
    shutdown(accepted_[0].get(), SHUT_RDWR);
    accepted_.clear();
  }
  EXPECT_EQ(Hear(clients_[0]), "");
  AwaitOpen(0);
  clients_.clear();
  EXPECT_EQ(NextDescriptor(), before);
}

TEST_F(AcceptorTest, AnAddressHasNoMoreThanItLeaves) {
  for (int i = 0; i < kMax; ++i) Come("127.0.0.1");
  EXPECT_EQ(acceptor_->counts().open, kMax / 2);
  EXPECT_EQ(acceptor_->counts().refused_share, std::uint64_t{kMax / 2});
  {
    absl::MutexLock lock(&mutex_);
    EXPECT_EQ(refused_[0].first.substr(0, 10), "127.0.0.1:");
    EXPECT_EQ(refused_[0].second,
              "connections: its address has 4, all have 4 of 8 (--max-connections), and none has "
              "more than it leaves to others");
  }
  EXPECT_EQ(Hear(clients_.back()), "");
  Come("127.0.0.2");
  EXPECT_EQ(acceptor_->counts().open, kMax / 2 + 1);
  // What one ends another may have.
  {
    absl::MutexLock lock(&mutex_);
    shutdown(accepted_[0].get(), SHUT_RDWR);
  }
  AwaitOpen(kMax / 2);
  Come("127.0.0.2");
  EXPECT_EQ(acceptor_->counts().open, kMax / 2 + 1);
}

TEST_F(AcceptorTest, NobodyHasOneBeyondAll) {
  Start(2);
  Come("127.0.0.1");
  Come("127.0.0.2");
  Come("127.0.0.3");
  EXPECT_EQ(acceptor_->counts().refused_full, 1U);
  {
    absl::MutexLock lock(&mutex_);
    EXPECT_EQ(refused_[0].second,
              "connections: all 2 that there may be are open (--max-connections)");
  }
  acceptor_->SetConnectionsMax({.count = 3, .by = "open files"});
  EXPECT_EQ(acceptor_->counts().max, 3);
  Come("127.0.0.3");
  EXPECT_EQ(acceptor_->counts().open, 3);
  Come("127.0.0.4");
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(refused_[1].second, "connections: all 3 that there may be are open (open files)");
}

TEST_F(AcceptorTest, ItsOwnProcessIsAlwaysTaken) {
  Start(1);
  Come("127.0.0.1");
  Come("127.0.0.1");
  EXPECT_EQ(acceptor_->counts().refused_full, 1U);
  const OwnedDescriptor own = At("127.0.0.1");
  acceptor_->ExpectOwn(OwnAddressOf(own.get()));
  Connect(own);
  AwaitSeen(3);
  EXPECT_EQ(acceptor_->counts().open, 1) << "it is no client's";
  // Once.
  Come("127.0.0.1");
  EXPECT_EQ(acceptor_->counts().refused_full, 2U);
  {
    absl::MutexLock lock(&mutex_);
    accepted_.clear();
  }
  EXPECT_EQ(acceptor_->EndAll(), 2);
  AwaitOpen(0);
}

TEST_F(AcceptorTest, EndsAll) {
  Come("127.0.0.1");
  Come("127.0.0.2");
  EXPECT_EQ(acceptor_->EndAll(), 2);
  for (const OwnedDescriptor& client : clients_) EXPECT_EQ(Hear(client), "");
  AwaitOpen(0);
  EXPECT_EQ(acceptor_->EndAll(), 0);
}

TEST_F(AcceptorTest, HandsNothingOverOnceItHasStopped) {
  Come("127.0.0.1");
  acceptor_->StopAccepting();
  const OwnedDescriptor waits = At("127.0.0.1");
  Connect(waits);
  {
    absl::MutexLock lock(&mutex_);
    shutdown(accepted_[0].get(), SHUT_RDWR);
  }
  AwaitOpen(0);  // its thread is awake, and has had time to accept
  EXPECT_EQ(Seen(), 1U);
  socket_.Close();
  EXPECT_EQ(Hear(waits), "");
}

TEST_F(AcceptorTest, AcceptsAgainAfterDescriptorsRanOut) {
  clients_.push_back(At("127.0.0.1"));
  {
    const FewDescriptors none(0);
    Connect(clients_[0]);
    while (acceptor_->counts().shortages == 0) std::this_thread::yield();
    EXPECT_EQ(acceptor_->counts().open, 0);
  }
  AwaitSeen(1);
  EXPECT_EQ(acceptor_->counts().open, 1);
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(shortages_[0].second, "connections: Too many open files");
  EXPECT_TRUE(refused_.empty());
}

TEST_F(AcceptorTest, RefusesOneWhoseEndItWouldNotSee) {
  clients_.push_back(At("127.0.0.1"));
  {
    const FewDescriptors one(1);
    Connect(clients_[0]);
    EXPECT_EQ(Hear(clients_[0]), "");
  }
  EXPECT_EQ(acceptor_->counts().refused_descriptors, 1U);
  EXPECT_EQ(acceptor_->counts().open, 0);
  Come("127.0.0.1");
  EXPECT_EQ(acceptor_->counts().open, 1);
}

TEST_F(AcceptorTest, HandsNobodyOverWhoHasGone) {
  acceptor_ = nullptr;
  for (const bool resets : {false, true}) {
    const OwnedDescriptor gone = At("127.0.0.1");
    Connect(gone);
    const linger at_once{1, 0};
    if (resets) setsockopt(gone.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  clients_.push_back(At("127.0.0.1"));
  Connect(clients_.back());
  Start(kMax);
  AwaitSeen(1);
  EXPECT_EQ(acceptor_->counts().accepted, 1U);
}

TEST_F(AcceptorTest, ItsEndEndsNoConnection) {
  Come("127.0.0.1");
  acceptor_ = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    EXPECT_EQ(send(accepted_[0].get(), "a", 1, MSG_NOSIGNAL), 1);
  }
  EXPECT_EQ(Hear(clients_[0]), "a");
}

}  // namespace
}  // namespace warpfold
