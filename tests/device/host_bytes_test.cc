#include "server/device/host_bytes.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/device/host_budget.h"

namespace warpfold {
namespace {

using testing::LeftInBudget;
using testing::UsedHostBytes;

constexpr std::size_t kLarge = std::size_t{1} << 20;
constexpr std::size_t kNobodyHas = std::size_t{1} << 60;

// For tests whose allocation has to fail.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kNewThrows = false;
#else
constexpr bool kNewThrows = true;
#endif
constexpr const char* kNewEndsProcess =
    "a sanitizer's new ends the process where another would throw";

TEST(HostBytesTest, WhatIsTakenCountsUntilItGoes) {
  const std::int64_t before = UsedHostBytes();
  {
    absl::StatusOr<HostBytes> first = HostBytes::Take(kLarge);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(UsedHostBytes() - before, kLarge);
    HostBytes moved = *std::move(first);
    EXPECT_EQ(UsedHostBytes() - before, kLarge);
    moved = *HostBytes::Take(2 * kLarge);
    EXPECT_EQ(UsedHostBytes() - before, 2 * kLarge) << "what it held before has gone";
    moved.get()[2 * kLarge - 1] = std::byte{1};
  }
  EXPECT_EQ(UsedHostBytes(), before);
}

TEST(HostBytesTest, LessThan64KibIsNeitherCountedNorRefused) {
  const LeftInBudget none(0);
  const std::int64_t before = UsedHostBytes();
  const absl::StatusOr<HostBytes> small = HostBytes::Take(kLargeBytes - 1);
  EXPECT_TRUE(small.ok());
  EXPECT_EQ(UsedHostBytes(), before);
  EXPECT_FALSE(HostBytes::Take(kLargeBytes).ok());
  EXPECT_TRUE(HostBytes::Take(0).ok());
}

TEST(HostBytesTest, TheBudgetIsGivenOutToTheLastByteAndNoFurther) {
  const LeftInBudget left(2 * kLarge);
  const std::uint64_t refused_before = HostBudget::OfProcess().state().refused;
  const std::int64_t before = UsedHostBytes();
  const absl::StatusOr<HostCharge> first = HostCharge::Take(kLarge);
  ASSERT_TRUE(first.ok());
  const absl::StatusOr<HostCharge> above = HostCharge::Take(kLarge + 1);
  EXPECT_EQ(above.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(IsNoHostMemory(above.status())) << "it fits when the first is gone";
  EXPECT_EQ(std::string(above.status().message()).rfind("memory: the request takes 1048577 ", 0),
            0U)
      << above.status();
  const absl::StatusOr<HostCharge> last = HostCharge::Take(kLarge);
  EXPECT_TRUE(last.ok());
  EXPECT_EQ(UsedHostBytes() - before, 2 * kLarge);
  EXPECT_EQ(HostBudget::OfProcess().state().refused, refused_before + 1);
}

TEST(HostBytesTest, WhatIsAboveTheWholeBudgetNeverFits) {
  const LeftInBudget left(2 * kLarge);
  const absl::Status status =
      HostCharge::Take(static_cast<std::size_t>(UsedHostBytes()) + 2 * kLarge + 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(IsNoHostMemory(status));
}

TEST(HostBytesTest, ALowerLimitTakesNothingAwayAndGivesNothingOut) {
  const absl::StatusOr<HostBytes> held = HostBytes::Take(kLarge);
  ASSERT_TRUE(held.ok());
  const LeftInBudget less(-static_cast<std::int64_t>(kLarge) / 2);
  EXPECT_FALSE(HostBytes::Take(kLargeBytes).ok());
}

TEST(HostBytesTest, WhatTheSystemDoesNotGiveIsARefusalThatHoldsNothing) {
  if (!kNewThrows) GTEST_SKIP() << kNewEndsProcess;
  const std::int64_t before = UsedHostBytes();
  const std::uint64_t refused_before = HostBudget::OfProcess().state().refused;
  const absl::Status status = HostBytes::Take(kNobodyHas).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(IsNoHostMemory(status));
  EXPECT_EQ(UsedHostBytes(), before);
  EXPECT_EQ(HostBudget::OfProcess().state().refused, refused_before + 1);
}

TEST(HostBytesTest, AContainerThatFindsNoMemoryIsARefusalToo) {
  if (!kNewThrows) GTEST_SKIP() << kNewEndsProcess;
  const auto allocate = [](std::size_t bytes) {
    return OrNoHostMemory([bytes]() -> absl::StatusOr<std::string> {
      std::string text;
      text.reserve(bytes);
      return text;
    });
  };
  EXPECT_TRUE(allocate(kLarge).ok());
  EXPECT_TRUE(IsNoHostMemory(allocate(kNobodyHas).status()));
  EXPECT_FALSE(BadAllocScope::IsOpen());
}

TEST(HostBytesTest, AScopeIsItsThreadsAndNests) {
  const BadAllocScope outer;
  { const BadAllocScope inner; }
  EXPECT_TRUE(BadAllocScope::IsOpen());
  bool of_other = true;
  std::thread([&] { of_other = BadAllocScope::IsOpen(); }).join();
  EXPECT_FALSE(of_other);
}

TEST(HostBytesTest, ManyThreadsNeverHoldMoreThanTheBudget) {
  const std::int64_t before = UsedHostBytes();
  {
    const LeftInBudget left(3 * kLarge);
    std::atomic<bool> is_above{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) {
          const absl::StatusOr<HostCharge> charge = HostCharge::Take(kLarge);
          if (UsedHostBytes() - before > static_cast<std::int64_t>(3 * kLarge)) is_above = true;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(is_above);
  }
  EXPECT_EQ(UsedHostBytes(), before);
}

}  // namespace
}  // namespace warpfold
