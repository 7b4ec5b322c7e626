#include <chrono>

#include "gtest/gtest.h"
#include "server/core/admission/open_calls.h"

namespace warpfold {
namespace {

using std::chrono::milliseconds;

TEST(ServerLagTest, IsTheMeanSinceItWasLastAsked) {
  ServerLag lag;
  EXPECT_EQ(lag.Take(), milliseconds(0));
  lag.Note(milliseconds(100));
  lag.Note(milliseconds(300));
  EXPECT_EQ(lag.Take(), milliseconds(200));
  lag.Note(milliseconds(1000));
  EXPECT_EQ(lag.Take(), milliseconds(1000)) << "what was before is over";
}

TEST(ServerLagTest, IsHalvedWhileNoRequestBecomesWhole) {
  ServerLag lag;
  lag.Note(milliseconds(100));
  EXPECT_EQ(lag.Take(), milliseconds(100));
  EXPECT_EQ(lag.Take(), milliseconds(50));
  EXPECT_EQ(lag.Take(), milliseconds(25));
  lag.Note(milliseconds(0));
  EXPECT_EQ(lag.Take(), milliseconds(0));
}

TEST(ServerLagTest, SlowClientsMakeItNoLongerThanItsMost) {
  ServerLag lag;
  lag.Note(100 * ServerLag::kMax);
  EXPECT_EQ(lag.Take(), ServerLag::kMax);
  lag.Note(100 * ServerLag::kMax);
  for (int i = 0; i < 9; ++i) lag.Note(milliseconds(0));
  EXPECT_EQ(lag.Take(), ServerLag::kMax / 10) << "nor one of many";
}

}  // namespace
}  // namespace warpfold
