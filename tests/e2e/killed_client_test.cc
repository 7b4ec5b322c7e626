// Client processes that SIGKILL ends in the middle of an upload of each kind, several at a time:
// whatever they held comes back, and the next request is served, as the fixture checks after each.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <list>
#include <string>

#include "tests/e2e/raw_connection.h"
#include "tests/e2e/tensor_fixture.h"

namespace warpfold::e2e {
namespace {

constexpr int kClients = 4;
// Of a message of a mebibyte these come: less than the server's flow control lets in at once.
constexpr std::size_t kMessageBytes = std::size_t{1} << 20;
const std::string kBegin(30000, '\0');

// What client number `client` sends; false when the server does not take it.
using Upload = std::function<bool(RawConnection&, int client)>;

// A process that has sent its upload, all of which the server has read, and does nothing more.
class ClientProcess {
 public:
  ClientProcess(int port, const std::string& method, const Upload& upload, int client) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      RawConnection connection(port, method);
      const bool sent = upload(connection, client) && connection.AwaitRead();
      if (!sent || write(ends[1], "!", 1) != 1) _exit(1);
      while (true) pause();
    }
    close(ends[1]);
    char ready = 0;
    EXPECT_EQ(read(ends[0], &ready, 1), 1) << "the client could not upload";
    close(ends[0]);
  }
  ~ClientProcess() {
    kill(pid_, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  ClientProcess(const ClientProcess&) = delete;
  ClientProcess& operator=(const ClientProcess&) = delete;

 private:
  pid_t pid_ = -1;
};

class KilledClientTest : public TensorFixture {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--workers-per-device=8", "--stream-idle-timeout-ms=3600000"});
  }

  // Kills kClients clients of `method` once `series` says that the server is busy with all of them.
  void ExpectNothingLeft(const std::string& method, const std::string& series,
                         const Upload& upload) {
    std::list<ClientProcess> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back(server().grpc_port(), method, upload, i);
    }
    if (!series.empty()) ExpectMetric(series, kClients);
    clients.clear();
    ExpectMetric(kWorkersInUse, 0);
    ExpectMetric("warpfold_requests_expected", 0);
    ExpectMetric("warpfold_bytes_in_flight", 0);
    ExpectMetric("warpfold_resident_leases{use=\"write\"}", 0);
  }

  // All calls of `method` have ended as those whose client is gone.
  static void ExpectCanceled(const std::string& service, const std::string& method,
                             const std::string& type) {
    ExpectMetric("grpc_server_handled_total{grpc_code=\"Canceled\",grpc_method=\"" + method +
                     "\",grpc_service=\"warpfold.v1." + service + "\",grpc_type=\"" + type + "\"}",
                 kClients);
  }

  static constexpr char kWorkersInUse[] = "warpfold_workers{state=\"in_use\"}";
};

// A message is the transport's until it is whole.
TEST_F(KilledClientTest, InMidMessageOfReduce) {
  ExpectNothingLeft("/warpfold.v1.ReductionService/Reduce", "",
                    [](RawConnection& connection, int /*client*/) {
                      return connection.SendPart(kMessageBytes, kBegin);
                    });
  ExpectCanceled("ReductionService", "Reduce", "unary");
}

TEST_F(KilledClientTest, InMidChunkOfReduceStream) {
  ExpectNothingLeft(
      "/warpfold.v1.ReductionService/ReduceStream", "warpfold_requests_expected",
      [](RawConnection& connection, int /*client*/) {
        return connection.SendMessage(Header(F32Request({kMessageBytes})).SerializeAsString()) &&
               connection.SendMessage(Chunk("1234").SerializeAsString()) &&
               connection.SendPart(kMessageBytes, kBegin);
      });
  ExpectCanceled("ReductionService", "ReduceStream", "client_stream");
}

TEST_F(KilledClientTest, InMidItemOfReduceMany) {
  ExpectNothingLeft("/warpfold.v1.ReductionService/ReduceMany",
                    "warpfold_requests_total{code=\"OK\",dtype=\"f32\",method=\"ReduceMany\","
                    "op=\"sum\"}",
                    [](RawConnection& connection, int /*client*/) {
                      return connection.SendMessage(F32Ones(100).SerializeAsString()) &&
                             connection.SendPart(kMessageBytes, kBegin);
                    });
}

TEST_F(KilledClientTest, InMidChunkOfWriteTensor) {
  const std::string id = Create({kMessageBytes});
  ExpectNothingLeft("/warpfold.v1.TensorService/WriteTensor",
                    "warpfold_resident_leases{use=\"write\"}",
                    [&id](RawConnection& connection, int client) {
                      constexpr std::int64_t kBytes = kMessageBytes;  // of its own
                      return connection.SendMessage(
                                 WriteHeader(id, client * kBytes, kBytes).SerializeAsString()) &&
                             connection.SendMessage(WriteChunk("1234").SerializeAsString()) &&
                             connection.SendPart(kMessageBytes, kBegin);
                    });
  ExpectCanceled("TensorService", "WriteTensor", "client_stream");
}

}  // namespace
}  // namespace warpfold::e2e
