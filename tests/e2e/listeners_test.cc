// A server that listens at a port and at a UNIX socket: who gets in, and what is left behind.
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

class ListenersTest : public testing::Test {
 protected:
  std::unique_ptr<ServerProcess> Start(const std::string& addresses,
                                       std::vector<std::string> flags = {}) const {
    flags.push_back("--listen-address=" + addresses);
    return ServerProcess::Start(flags, folder_.Path("log"));
  }
  // What a client there is answered.
  static absl::StatusCode ReduceAt(const std::string& target) {
    auto client = client::Client::Connect(target, {});
    if (!client.ok()) return client.status().code();
    const std::vector<float> values{1, 2, 3};
    return (*client)
        ->Reduce({v1::DTYPE_F32, {3}, std::as_bytes(std::span(values))}, {.ops = {v1::OP_SUM}})
        .status()
        .code();
  }
  std::string Errors(const std::string& addresses) const {
    std::string errors;
    EXPECT_EQ(RunServerBinary({"--listen-address=" + addresses, "--metrics-address=none"}, &errors),
              1);
    return errors;
  }
  bool IsThere() const { return access(path_.c_str(), F_OK) == 0; }

  const UniqueTempFolder folder_;
  const std::string path_ = folder_.Path("a.sock");
  const std::string socket_ = "unix:" + path_;
};

TEST_F(ListenersTest, ServesAtBothAndTakesItsFileAway) {
  const auto server = Start("127.0.0.1:0," + socket_ + " mode=0600");
  ASSERT_NE(server, nullptr);
  struct stat about {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
  EXPECT_EQ(ReduceAt(socket_), absl::StatusCode::kOk);
  EXPECT_EQ(ReduceAt(absl::StrCat("127.0.0.1:", server->grpc_port())), absl::StatusCode::kOk);
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0);
  EXPECT_FALSE(IsThere());
}

TEST_F(ListenersTest, NeedsNoPort) {
  const auto server = Start(socket_);
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->grpc_port(), 0);
  EXPECT_EQ(ReduceAt(socket_), absl::StatusCode::kOk);
}

TEST_F(ListenersTest, ASecondServerIsToldOfTheFirst) {
  const auto server = Start(socket_);
  ASSERT_NE(server, nullptr);
  const std::string errors = Errors(socket_);
  EXPECT_NE(errors.find(absl::StrCat("listen-address: cannot listen on ", socket_, ": held by")),
            std::string::npos)
      << errors;
  EXPECT_EQ(ReduceAt(socket_), absl::StatusCode::kOk);
}

TEST_F(ListenersTest, AFileThatAKilledServerLeftIsReplaced) {
  {
    const auto killed = Start(socket_);
    ASSERT_NE(killed, nullptr);
  }
  EXPECT_TRUE(IsThere());
  const auto server = Start(socket_);
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(ReduceAt(socket_), absl::StatusCode::kOk);
}

TEST_F(ListenersTest, AGroupThatIsNotThereEndsTheStart) {
  const std::string errors = Errors(socket_ + " group=no-such-group");
  EXPECT_NE(errors.find("there is no group 'no-such-group'"), std::string::npos) << errors;
  EXPECT_FALSE(IsThere());
}

// The scopes of who comes by the socket are those of its line.
TEST_F(ListenersTest, TheSocketSaysWhoCalls) {
  const std::string callers =
      folder_.Write("callers", absl::StrCat("caller=local listener=", socket_, " scopes=reduce\n"));
  const auto server = Start("127.0.0.1:0," + socket_, {"--callers-file=" + callers});
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(ReduceAt(socket_), absl::StatusCode::kOk);
  EXPECT_EQ(ReduceAt(absl::StrCat("127.0.0.1:", server->grpc_port())),
            absl::StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace warpfold::e2e
