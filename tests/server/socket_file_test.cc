// Who may connect to a UNIX socket of the server, and where one can be.
#include "server/socket_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/owned_descriptor.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

class SocketFileTest : public ::testing::Test {
 protected:
  OwnedDescriptor Bind() const {
    OwnedDescriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un at = AddressOf(socket_);
    EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    EXPECT_EQ(listen(made.get(), 1), 0);
    return made;
  }
  mode_t Mode() const {
    struct stat about {};
    EXPECT_EQ(stat(socket_.path.c_str(), &about), 0);
    return about.st_mode & 07777;
  }
  std::string WhyNot() const {
    const absl::Status status = CheckFree(socket_);
    if (status.ok()) return "";
    const std::string begin =
        absl::StrCat("listen-address: cannot listen on unix:", socket_.path, ": ");
    EXPECT_EQ(status.message().substr(0, begin.size()), begin);
    return std::string(status.message().substr(begin.size()));
  }

  const UniqueTempFolder folder_;
  UnixSocket socket_{.path = folder_.Path("a.sock")};
};

TEST_F(SocketFileTest, NobodyElseConnectsBeforeItHasItsMode) {
  {
    const UnopenedSocketFiles until_access_is_set;
    const OwnedDescriptor made = Bind();
    EXPECT_EQ(Mode(), 0600U);
    socket_.mode = 0666;
    socket_.group = std::to_string(getgid());
    EXPECT_TRUE(SetAccess(socket_).ok());
    EXPECT_EQ(Mode(), 0666U);
  }
  const mode_t now = umask(0);
  umask(now);
  EXPECT_NE(now, 0177U);
}

// By a link that somebody put in its place meanwhile.
TEST_F(SocketFileTest, GivesNoOtherFileItsMode) {
  const std::string victim = folder_.Write("victim", "secret");
  ASSERT_EQ(chmod(victim.c_str(), 0600), 0);
  ASSERT_EQ(symlink(victim.c_str(), socket_.path.c_str()), 0);
  socket_.mode = 0666;
  EXPECT_FALSE(SetAccess(socket_).ok());
  struct stat about {};
  ASSERT_EQ(stat(victim.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
}

TEST_F(SocketFileTest, AGroupThatIsNotThereIsSaid) {
  const OwnedDescriptor made = Bind();
  socket_.group = "no-such-group";
  EXPECT_EQ(SetAccess(socket_).message(),
            absl::StrCat("listen-address: cannot listen on unix:", socket_.path,
                         ": there is no group 'no-such-group'"));
  EXPECT_EQ(WhyNot(), "there is no group 'no-such-group'");
}

TEST_F(SocketFileTest, IsFreeWhereNothingIsOrNobodyListensAnyMore) {
  EXPECT_EQ(WhyNot(), "");
  { const OwnedDescriptor left = Bind(); }
  EXPECT_EQ(access(socket_.path.c_str(), F_OK), 0);
  EXPECT_EQ(WhyNot(), "");
}

TEST_F(SocketFileTest, SaysWhoListens) {
  const OwnedDescriptor made = Bind();
  const std::string why = WhyNot();
  EXPECT_EQ(why.substr(0, 8), "held by ") << why;
  EXPECT_NE(why.find(absl::StrCat("(pid ", getpid(), ")")), std::string::npos) << why;
}

TEST_F(SocketFileTest, LeavesOtherFilesAlone) {
  folder_.Write("a.sock", "precious");
  EXPECT_EQ(WhyNot(), "a file is there that is no socket");
  socket_.path = folder_.Path("none/a.sock");
  EXPECT_EQ(WhyNot(), folder_.Path("none") + ": No such file or directory");
}

}  // namespace
}  // namespace warpfold
