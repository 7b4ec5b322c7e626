// What --listen-address may say.
#include "server/system/listen_address.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

std::string WhyNot(const std::string& text) {
  const auto addresses = ParseListenAddresses(text);
  return addresses.ok() ? "is taken" : std::string(addresses.status().message());
}

TEST(ListenAddressTest, SeveralStandWithCommasBetween) {
  const auto addresses =
      ParseListenAddresses("127.0.0.1:50051, unix:/run/a.sock mode=0600  group=gpu,[::]:1,unix:/b");
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(NamesOf(*addresses),
            (std::vector<std::string>{"127.0.0.1:50051", "unix:/run/a.sock", "[::]:1", "unix:/b"}));
  EXPECT_EQ(FirstPort(*addresses), 50051);
  EXPECT_EQ((*addresses)[1].unix_socket()->mode, 0600U);
  EXPECT_EQ((*addresses)[1].unix_socket()->group, "gpu");
  EXPECT_EQ((*addresses)[3].unix_socket()->mode, 0660U);
  EXPECT_EQ((*addresses)[3].unix_socket()->group, "");
  EXPECT_EQ(addresses->at(0).is_local() && addresses->at(1).is_local(), true);
  EXPECT_FALSE(addresses->at(2).is_local());
}

TEST(ListenAddressTest, WithoutAPortThereIsNoFirst) {
  EXPECT_EQ(FirstPort(*ParseListenAddresses("unix:/a")), 0);
}

TEST(ListenAddressTest, SaysWhichIsWrong) {
  EXPECT_EQ(WhyNot("127.0.0.1:1,"), "'' is no host:port with a port of 0 to 65535");
  EXPECT_EQ(WhyNot("127.0.0.1:1 mode=0600"),
            "'127.0.0.1:1 mode=0600' is no host:port with a port of 0 to 65535");
  EXPECT_EQ(WhyNot(":1"), "':1' has no host: 0.0.0.0:1 is every address of this one");
  for (const std::string none : {"[a]:1", "[]:1", "::1:1", "a b:1", "[::1:1", "a\v:1"}) {
    EXPECT_EQ(WhyNot(none), "'" + none + "' is no host:port with a port of 0 to 65535");
  }
  EXPECT_EQ(WhyNot("unix:a"), "'unix:a' has no absolute path");
  EXPECT_EQ(WhyNot("unix:"), "'unix:' has no absolute path");
  EXPECT_EQ(WhyNot("unix:/" + std::string(107, 'a')),
            "'unix:/" + std::string(107, 'a') + "' has a path of more than 107 bytes");
  EXPECT_EQ(WhyNot("unix:/" + std::string(106, 'a')), "is taken");
  for (const char* mode : {"", "66", "8", "0888", "1660", "01660", "rw", "+660", "06600"}) {
    const std::string address = absl::StrCat("unix:/a mode=", mode);
    EXPECT_EQ(WhyNot(address), absl::StrCat("'", address,
                                            "' has a mode that is not 000 to 777, as chmod "
                                            "takes it"));
  }
  for (const char* word : {"mod=0660", "group=", "group", "tls"}) {
    EXPECT_EQ(
        WhyNot(absl::StrCat("unix:/a ", word)),
        absl::StrCat("'unix:/a ", word, "' has '", word, "': there are mode=0660 and group=NAME"));
  }
  EXPECT_EQ(WhyNot("unix:/a/"), "'unix:/a/' has the path of a folder");
  for (const std::string path : {"/a/./b", "//a/b", "/a/c/../b"}) {
    EXPECT_EQ(WhyNot("unix:/a/b,unix:" + path), "'unix:/a/b' is there twice") << path;
  }
  EXPECT_EQ(WhyNot("unix:/a\nb"), "'unix:/a\\nb' has a path with what cannot be printed");
  EXPECT_EQ(WhyNot("unix:/a%41"), "'unix:/a%41' has a path with '%', '?' or '#'");
  EXPECT_EQ(WhyNot("unix:/a mode=0660 mode=0600"), "'unix:/a mode=0660 mode=0600' has mode twice");
  EXPECT_EQ(WhyNot("unix:/a group=x group=y"), "'unix:/a group=x group=y' has group twice");
  EXPECT_EQ(WhyNot("unix:/a mode=0060"),
            "'unix:/a mode=0060' has a mode by which its owner cannot use it");
  EXPECT_EQ(WhyNot("unix:/a,unix:/a mode=0600"), "'unix:/a' is there twice");
  EXPECT_EQ(WhyNot("127.0.0.1:1,127.0.0.1:1"), "'127.0.0.1:1' is there twice");
  EXPECT_EQ(WhyNot("127.0.0.1:0,127.0.0.1:0"), "is taken");
  EXPECT_EQ(WhyNot("127.0.0.1:1,0.0.0.0:1"),
            "'0.0.0.0:1' is at the port of '127.0.0.1:1', and one of them is every address");
  EXPECT_EQ(WhyNot("[::]:1,127.0.0.1:2,10.0.0.1:1"),
            "'10.0.0.1:1' is at the port of '[::]:1', and one of them is every address");
  EXPECT_EQ(WhyNot("0.0.0.0:0,127.0.0.1:0,127.0.0.1:1,127.0.0.2:1"), "is taken");
}

}  // namespace
}  // namespace warpfold
