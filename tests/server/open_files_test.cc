#include "server/open_files.h"

#include <sys/resource.h>

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

TEST(OpenFilesTest, TheHardLimitIsTaken) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(OpenFilesLimit().soft, 64);
  EXPECT_EQ(RaiseOpenFiles(), OpenFilesLimit().hard);
  EXPECT_EQ(OpenFilesLimit().soft, OpenFilesLimit().hard);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(OpenFilesTest, RegionsLeaveMostDescriptorsToConnections) {
  EXPECT_EQ(RegionsThatFit(65536), 16384);
  EXPECT_EQ(RegionsThatFit(120), 30);
  EXPECT_EQ(RegionsThatFit(0), 1);
}

TEST(OpenFilesTest, ConnectionsLeaveDescriptorsToTheServerAndToRegions) {
  EXPECT_EQ(ConnectionsThatFit(65536), 16376);
  EXPECT_EQ(ConnectionsThatFit(120), 22);
  EXPECT_EQ(ConnectionsThatFit(kOpenFilesNeeded), 2);
}

}  // namespace
}  // namespace warpfold
