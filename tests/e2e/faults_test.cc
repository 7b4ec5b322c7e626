// What happens around the server and must not harm it: scrapes, logs, other servers.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

class FaultsTest : public ServedTest {};

// A connection to the metrics page that takes next to no bytes.
class Scraper {
 public:
  explicit Scraper(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int bytes = 1;  // the kernel makes it its least
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Scraper() { close(fd_); }
  void Ask() const {
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(write(fd_, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  }

 private:
  const int fd_;
};

TEST_F(FaultsTest, ScrapesInARowAreAllAnsweredWhileRequestsAreServed) {
  constexpr int kScrapes = 300;  // three seconds' worth of 100 a second, without a pause
  std::jthread requests([this](const std::stop_token& stop) {
    v1::ReduceResponse response;
    while (!stop.stop_requested()) {
      const grpc::Status status = client().Reduce(F32Ones(1000), &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
  });
  int answered = 0;
  for (int i = 0; i < kScrapes; ++i) {
    const std::string page = MetricsPage(server().metrics_port());
    if (MetricValue(page, "warpfold_ready") == 1) ++answered;
  }
  EXPECT_EQ(answered, kScrapes);
}

TEST_F(FaultsTest, ScrapesThatNeverReadOrNeverAskHoldUpNeitherRequestsNorForLongOtherScrapes) {
  const int port = server().metrics_port();
  std::vector<std::unique_ptr<Scraper>> scrapers;
  for (int i = 0; i < 8; ++i) {  // twice the page's threads
    scrapers.push_back(std::make_unique<Scraper>(port));
    if (i % 2 == 0) scrapers.back()->Ask();
  }
  v1::ReduceResponse response;
  EXPECT_TRUE(client().Reduce(F32Ones(1000), &response).ok());
  // The page's threads come free one after the other; ctest's time limit bounds the wait.
  EXPECT_EQ(MetricValue(MetricsPage(port), "warpfold_ready"), 1);
}

TEST(LogFaultTest, AFullDiskUnderTheLogLosesLinesAndNoRequest) {
  const auto server = ServerProcess::Start({}, "/dev/full");
  ASSERT_NE(server, nullptr);
  Client client(*server);
  v1::ReduceResponse response;
  EXPECT_TRUE(client.Reduce(F32Ones(1000), &response).ok());
  EXPECT_GE(MetricValue(MetricsPage(server->metrics_port()),
                        "warpfold_log_lines_dropped_total{reason=\"write\"}"),
            1);
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0);
}

TEST(LogFaultTest, ALogThatNobodyReadsHoldsUpNeitherRequestsNorTheEnd) {
  const UniqueTempFolder folder;
  const std::string pipe = folder.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // which never reads
  const auto server = ServerProcess::Start({"--access-log-fast-per-s=1048576"}, pipe);
  ASSERT_NE(server, nullptr);
  Client client(*server);
  v1::ReduceResponse response;
  for (int i = 0; i < 1000; ++i) {  // of some 300 bytes a line, more than a pipe's 64 KiB
    ASSERT_TRUE(client.Reduce(F32Ones(10), &response).ok());
  }
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0);
  close(reader);
}

// The libraries' own lines go the same way: a client that gives them cause holds up nobody.
TEST(LogFaultTest, LinesOfLibrariesThatNobodyReadsHoldUpNoRequest) {
  const UniqueTempFolder folder;
  const std::string pipe = folder.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // which never reads
  const auto server = ServerProcess::Start({}, pipe);
  ASSERT_NE(server, nullptr);
  Client client(*server);
  // An id that is no UTF-8, of which protobuf tells: 300 bytes a line.
  const std::string request = "\x0a\x02\xff\xfe" + F32Ones(10).SerializeAsString();
  for (int i = 0; i < 1000; ++i) {
    const RawReply reply =
        RawCall(client.channel(), "/warpfold.v1.ReductionService/Reduce", request);
    ASSERT_EQ(reply.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  v1::ReduceResponse response;
  EXPECT_TRUE(client.Reduce(F32Ones(10), &response).ok());
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0);
  close(reader);
}

TEST(PortFaultTest, ASecondServerOnTheSamePortEndsAndTheFirstServesOn) {
  const auto server = ServerProcess::Start();
  ASSERT_NE(server, nullptr);
  std::string errors;
  EXPECT_EQ(RunServerBinary({"--listen-address=127.0.0.1:" + std::to_string(server->grpc_port()),
                             "--metrics-address=none"},
                            &errors),
            1);
  EXPECT_NE(errors.find("listen-address: cannot listen"), std::string::npos) << errors;
  for (int i = 0; i < 20; ++i) {  // each on a connection of its own: none may go astray
    Client client(*server);
    v1::ReduceResponse response;
    EXPECT_TRUE(client.Reduce(F32Ones(10), &response).ok());
  }
}

}  // namespace
}  // namespace warpfold::e2e
