#include "server/thread_limit.h"

#include "gtest/gtest.h"

namespace warpfold {
namespace {

TEST(ThreadLimitTest, ThreadsThatThereAreAreEnded) {
  EXPECT_TRUE(TryThreads(0).ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(TryThreads(ThreadsNeeded(4)).ok());
}

TEST(ThreadLimitTest, EachWorkerNeedsOne) { EXPECT_EQ(ThreadsNeeded(68) - ThreadsNeeded(4), 64); }

}  // namespace
}  // namespace warpfold
