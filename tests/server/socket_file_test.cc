// Who may connect to a UNIX socket of the server, and where one can be.
#include "server/system/socket_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/system/owned_descriptor.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

class SocketFileTest : public ::testing::Test {
 protected:
  // A socket at which somebody listens.
  static OwnedDescriptor Bind(const std::string& path) {
    OwnedDescriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un at = AddressOf({.path = path});
    EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    EXPECT_EQ(listen(made.get(), 1), 0);
    return made;
  }
  SocketFile Listen() const {
    absl::StatusOr<SocketFile> file = SocketFile::Listen(socket_);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  bool Connects() const {
    const OwnedDescriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un at = AddressOf(socket_);
    return connect(client.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0;
  }
  bool IsThere() const { return access(socket_.path.c_str(), F_OK) == 0; }
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

TEST_F(SocketFileTest, HasItsModeAndGroup) {
  socket_.mode = 0666;
  socket_.group = std::to_string(getgid());
  SocketFile file = Listen();
  EXPECT_EQ(Mode(), 0666U);
  EXPECT_TRUE(Connects());
  file.Remove();
  EXPECT_FALSE(IsThere());
}

TEST_F(SocketFileTest, ReplacesOneThatIsLeftOver) {
  { const OwnedDescriptor left = Bind(socket_.path); }
  EXPECT_FALSE(Connects());
  const SocketFile file = Listen();
  EXPECT_TRUE(Connects());
}

// A link leads to the file of another.
TEST_F(SocketFileTest, GivesNoOtherFileItsMode) {
  const std::string victim = folder_.Write("victim", "secret");
  ASSERT_EQ(chmod(victim.c_str(), 0600), 0);
  ASSERT_EQ(symlink(victim.c_str(), socket_.path.c_str()), 0);
  socket_.mode = 0666;
  EXPECT_FALSE(SocketFile::Listen(socket_).ok());
  struct stat about {};
  ASSERT_EQ(lstat(socket_.path.c_str(), &about), 0);
  ASSERT_EQ(stat(victim.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
}

TEST_F(SocketFileTest, AGroupThatIsNotThereIsSaid) {
  socket_.group = "no-such-group";
  EXPECT_EQ(SocketFile::Listen(socket_).status().message(),
            absl::StrCat("listen-address: cannot listen on unix:", socket_.path,
                         ": there is no group 'no-such-group'"));
  EXPECT_EQ(WhyNot(), "there is no group 'no-such-group'");
  EXPECT_FALSE(IsThere());
}

TEST_F(SocketFileTest, TheNumberThatStandsForNoneIsNoGroup) {
  socket_.group = "4294967295";
  EXPECT_EQ(WhyNot(), "there is no group '4294967295'");
}

TEST_F(SocketFileTest, AnothersInAStickyFolderIsNotFree) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  { const OwnedDescriptor left = Bind(socket_.path); }
  ASSERT_EQ(chmod(socket_.path.c_str(), 0666), 0);
  EXPECT_EQ(WhyNot(), "");
  ASSERT_EQ(seteuid(kNobody), 0);
  const std::string why = WhyNot();
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(why, "another user's is there, which only that user may remove");
}

TEST_F(SocketFileTest, AFolderThatIsNotThereIsSaid) {
  socket_.path = folder_.Path("none/a.sock");
  EXPECT_EQ(SocketFile::Listen(socket_).status().message(),
            absl::StrCat("listen-address: cannot listen on unix:", socket_.path, ": ",
                         folder_.Path("none"), ": No such file or directory"));
}

TEST_F(SocketFileTest, AnotherInItsPlaceStays) {
  SocketFile file = Listen();
  ASSERT_EQ(unlink(socket_.path.c_str()), 0);
  const OwnedDescriptor other = Bind(socket_.path);
  file.Remove();
  EXPECT_TRUE(IsThere());
}

TEST_F(SocketFileTest, IsRemovedOnce) {
  SocketFile file = Listen();
  file.Remove();
  const OwnedDescriptor other = Bind(socket_.path);
  file.Remove();
  EXPECT_TRUE(IsThere());
}

TEST_F(SocketFileTest, AGroupThatThisUserMayNotGiveIsSaid) {
  constexpr gid_t kNotOurs = 54321;
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  socket_.group = std::to_string(kNotOurs);
  const uid_t us = geteuid();
  ASSERT_TRUE(us != 0 || seteuid(kNobody) == 0);
  const std::string why = WhyNot();
  ASSERT_EQ(seteuid(us), 0);
  EXPECT_EQ(why, "cannot give it to the group '54321': Operation not permitted");
  EXPECT_FALSE(IsThere());
}

TEST_F(SocketFileTest, IsFreeWhereNothingIsOrNobodyListensAnyMore) {
  EXPECT_EQ(WhyNot(), "");
  { const OwnedDescriptor left = Bind(socket_.path); }
  EXPECT_TRUE(IsThere());
  EXPECT_EQ(WhyNot(), "");
}

TEST_F(SocketFileTest, SaysWhoListens) {
  const OwnedDescriptor made = Bind(socket_.path);
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
