#include "server/frontend/calls/chunk_wait.h"

#include <chrono>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

using Ms = std::chrono::milliseconds;
using Verdict = ChunkWait::Verdict;

class ChunkWaitTest : public ::testing::Test {
 protected:
  ChunkWaitTest() {
    limits_.stream_idle_timeout = Ms(1000);
    limits_.min_bytes_per_s = 1000;
  }

  Limits limits_;
  ChunkWait wait_;
};

TEST_F(ChunkWaitTest, APlaceIsLostLongBeforeTheCallIs) {
  EXPECT_EQ(wait_.Begin(Ms(0), limits_), ChunkWait::kPlaceWaitMax);
  EXPECT_EQ(wait_.Look(Ms(50)).verdict, Verdict::kCame) << "a look too early";
  const ChunkWait::Seen seen = wait_.Look(Ms(150));
  EXPECT_EQ(seen.verdict, Verdict::kLosesPlace);
  EXPECT_EQ(seen.look_in, Ms(850));
  EXPECT_EQ(wait_.Look(Ms(500)).verdict, Verdict::kCame);
  EXPECT_EQ(wait_.Look(Ms(1000)).verdict, Verdict::kSilent);
}

TEST_F(ChunkWaitTest, APlaceThatIsKeptIsLookedAtAgain) {
  wait_.Begin(Ms(0), limits_);
  EXPECT_EQ(wait_.Look(Ms(150)).verdict, Verdict::kLosesPlace);
  wait_.SetPlace(true);
  EXPECT_EQ(wait_.Look(Ms(250)).verdict, Verdict::kLosesPlace);
  EXPECT_EQ(wait_.Look(Ms(350)).verdict, Verdict::kCame);
}

// 100 ms in all, however often a byte comes.
TEST_F(ChunkWaitTest, AFewBytesNowAndThenDoNotKeepAPlace) {
  Ms now(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(wait_.Begin(now, limits_), Ms(100 - 30 * i));
    wait_.SetPlace(true);  // it has it still
    wait_.End(now += Ms(30), 600);
  }
  EXPECT_EQ(wait_.Begin(now, limits_), Ms(10));
  EXPECT_EQ(wait_.Look(now + Ms(5)).verdict, Verdict::kCame);
  EXPECT_EQ(wait_.Look(now + Ms(10)).verdict, Verdict::kLosesPlace);
  wait_.End(now += Ms(20), 600);
  wait_.SetPlace(true);
  EXPECT_EQ(wait_.Begin(now, limits_), Ms(100)) << "a new one";
}

TEST_F(ChunkWaitTest, WhoBringsBytesKeepsItsPlace) {
  Ms now(0);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(wait_.Begin(now, limits_), Ms(100));
    wait_.End(now += Ms(90), ChunkWait::kPlaceBytes);
  }
  EXPECT_EQ(wait_.Begin(now, limits_), Ms(100));
  wait_.End(now += Ms(90), ChunkWait::kPlaceBytes / 2);
  EXPECT_EQ(wait_.Begin(now, limits_), Ms(60));
}

TEST_F(ChunkWaitTest, OnlyAReadThatIsUnderWayIsSilence) {
  EXPECT_EQ(wait_.Silence(Ms(50)), Ms(0));
  wait_.Begin(Ms(100), limits_);
  EXPECT_EQ(wait_.Silence(Ms(150)), Ms(50));
  EXPECT_FALSE(wait_.has_brought_bytes());
  wait_.End(Ms(200), 1);
  EXPECT_TRUE(wait_.has_brought_bytes());
  EXPECT_EQ(wait_.Silence(Ms(250)), Ms(0));
}

TEST_F(ChunkWaitTest, WhatHasComeIsNotOverdue) {
  wait_.Begin(Ms(0), limits_);
  wait_.End(Ms(90), 10);
  EXPECT_EQ(wait_.Look(Ms(5000)).verdict, Verdict::kCame);
}

// Of a byte now and then: 1000 ms all in all, and one for each byte.
TEST_F(ChunkWaitTest, ManyShortWaitsAreTooSlowTogether) {
  Ms now(0);
  for (int i = 0; i < 3; ++i) {
    wait_.Begin(now, limits_);
    now += Ms(300);
    wait_.End(now, 1);
  }
  wait_.Begin(now, limits_);
  EXPECT_EQ(wait_.Look(now + Ms(102)).verdict, Verdict::kLosesPlace);
  EXPECT_EQ(wait_.Begin(now, limits_), Ms(103));
  EXPECT_EQ(wait_.Look(now + Ms(103)).verdict, Verdict::kTooSlow);
}

TEST_F(ChunkWaitTest, BytesAtTheRateMayTakeAsLongAsTheyLike) {
  Ms now(0);
  for (int i = 0; i < 1000; ++i) {
    wait_.Begin(now, limits_);
    now += Ms(900);
    EXPECT_NE(wait_.Look(now).verdict, Verdict::kTooSlow);
    wait_.End(now, 900);
  }
}

// A worker that does not take them, say.
TEST_F(ChunkWaitTest, TimeBetweenReadsIsNotTheClients) {
  Ms now(0);
  for (int i = 0; i < 10; ++i) {
    wait_.Begin(now, limits_);
    wait_.End(now + Ms(10), 10'000);
    now += Ms(10'000);
  }
  EXPECT_EQ(wait_.Begin(now, limits_), ChunkWait::kPlaceWaitMax);
}

}  // namespace
}  // namespace warpfold
