#include "server/out_of_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/device/host_bytes.h"
#include "server/frontend/wire/wire_message.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {
namespace {

// In a child of the test's: no more memory than it has, and 64 MiB.
void LimitMemory() {
  std::size_t pages = 0;
  FILE* const statm = std::fopen("/proc/self/statm", "r");
  ASSERT_EQ(std::fscanf(statm, "%zu", &pages), 1);
  const rlim_t bytes = pages * static_cast<std::size_t>(getpagesize()) + (std::size_t{64} << 20);
  const rlimit limit{bytes, bytes};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

class OutOfMemoryDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's allocator asks no handler, and takes all addresses at once";
#endif
  }
};

TEST_F(OutOfMemoryDeathTest, OneLargeAllocationEndsTheProcessWithALine) {
  EXPECT_EXIT(
      {
        EndWhenOutOfMemory();
        LimitMemory();
        const std::vector<char> large(std::size_t{1} << 30);
        std::exit(large[0]);
      },
      testing::ExitedWithCode(kExitOutOfMemory), "^warpfold-server: out of memory: [^\n]*\n$");
}

TEST_F(OutOfMemoryDeathTest, SoDoManySmallOnesThatLeaveNothingForTheEnd) {
  EXPECT_EXIT(
      {
        EndWhenOutOfMemory();
        LimitMemory();
        for (std::vector<std::vector<char>> all;;) all.emplace_back(1000);
      },
      testing::ExitedWithCode(kExitOutOfMemory), "^warpfold-server: out of memory: [^\n]*\n$");
}

TEST_F(OutOfMemoryDeathTest, WhatIsPreparedForItGoesOn) {
  EXPECT_EXIT(
      {
        EndWhenOutOfMemory();
        LimitMemory();
        const absl::Status status = OrNoHostMemory([]() -> absl::Status {
          const std::vector<char> large(std::size_t{1} << 30);
          // GCC 16 leaves out what nobody sees, and knows what it would read.
          const volatile char* const first = large.data();
          return *first == 0 ? absl::OkStatus() : absl::InternalError("");
        });
        std::exit(IsNoHostMemory(status) ? 3 : 4);
      },
      testing::ExitedWithCode(3), "^$");
}

TEST_F(OutOfMemoryDeathTest, AnAnswerThatDoesNotFitIsRefused) {
  EXPECT_EXIT(
      {
        v1::Result answer;
        answer.set_data(std::string(std::size_t{128} << 20, '\0'));
        EndWhenOutOfMemory();
        LimitMemory();
        grpc::ByteBuffer encoded;
        std::exit(IsNoHostMemory(Encode(answer, &encoded)) ? 3 : 4);
      },
      testing::ExitedWithCode(3), "^$");
}

TEST_F(OutOfMemoryDeathTest, AClosedStderrDoesNotHoldItUp) {
  EXPECT_EXIT(
      {
        EndWhenOutOfMemory();
        LimitMemory();
        close(STDERR_FILENO);
        const std::vector<char> large(std::size_t{1} << 30);
        std::exit(large[0]);
      },
      testing::ExitedWithCode(kExitOutOfMemory), "");
}

}  // namespace
}  // namespace warpfold
