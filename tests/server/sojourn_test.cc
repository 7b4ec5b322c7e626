#include "server/core/base/sojourn.h"

#include <chrono>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

using Ms = std::chrono::milliseconds;

TEST(SojournTest, TheDelayGrowsWithTheStaysAndFallsWithThem) {
  Sojourn sojourn;
  EXPECT_EQ(sojourn.RetryDelay(Ms(100)), Ms(100));
  for (int i = 0; i < 100; ++i) sojourn.Note(Ms(1));
  EXPECT_EQ(sojourn.RetryDelay(Ms(100)), Ms(100));
  for (int i = 0; i < 200; ++i) sojourn.Note(Ms(2000));
  EXPECT_GT(sojourn.RetryDelay(Ms(100)), Ms(1900));
  EXPECT_LE(sojourn.RetryDelay(Ms(100)), Ms(2000));
  for (int i = 0; i < 200; ++i) sojourn.Note(Ms(300));
  EXPECT_LT(sojourn.RetryDelay(Ms(100)), Ms(310));
  for (int i = 0; i < 500; ++i) sojourn.Note(std::chrono::hours(10));
  EXPECT_EQ(sojourn.RetryDelay(Ms(100)), Sojourn::kDelayMax);
}

}  // namespace
}  // namespace warpfold
