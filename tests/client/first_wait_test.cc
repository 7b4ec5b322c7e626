#include "client/cpp/first_wait.h"

#include <cerrno>

#include "gtest/gtest.h"

namespace warpfold::client {
namespace {

TEST(FirstWaitTest, ThreadsThatWaitFromThenOnLeaveErrnoAlone) {
  WarmUpMutexes();
  WaitByTwo([] { errno = 0; },
            [] {
              EXPECT_TRUE(errno == 0 || errno == EAGAIN) << errno;  // EAGAIN: woken before it slept
            });
}

}  // namespace
}  // namespace warpfold::client
