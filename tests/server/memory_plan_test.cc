#include "server/memory_plan.h"

#include <string>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

MemoryLimit Limit(std::int64_t mib) {
  return {.bytes = mib * kMiB, .source = "memory.max of /sys/fs/cgroup"};
}

TEST(MemoryPlanTest, TheSumOfACpuNamesEachTermAndItsOptions) {
  const Config config{.workers_per_device = 4};
  EXPECT_EQ(
      MemoryPlan(config, Backend::kCpu, 1).Sum(),
      "256 MiB process + 16 MiB staging (4 workers x 1 x --staging-buffer-bytes 4 MiB) + 2112 MiB "
      "received (2 x --max-bytes-in-flight 1024 MiB + 64 MiB) + 320 MiB one reduction "
      "(--scratch-bytes 256 MiB + --max-result-bytes 64 MiB) = 2704 MiB");
}

TEST(MemoryPlanTest, TheSumOfGpusHasTheirPinnedMemoryAndNotTheirScratch) {
  const Config config{.workers_per_device = 8};
  EXPECT_EQ(
      MemoryPlan(config, Backend::kCuda, 2).Sum(),
      "256 MiB process + 256 MiB staging (16 workers x 4 x --staging-buffer-bytes 4 MiB) + 8 MiB "
      "batches (2 x --batch-workers 4 x --max-batch-bytes 1 MiB) + 2112 MiB received (2 x "
      "--max-bytes-in-flight 1024 MiB + 64 MiB) + 128 MiB one reduction (2 x "
      "--max-result-bytes 64 MiB) = 2760 MiB");
}

TEST(MemoryPlanTest, MessagesAboveTheBytesInFlightCountAsGrpcTakesThem) {
  const Config config{
      .workers_per_device = 4, .max_message_bytes = 256 * kMiB, .max_bytes_in_flight = 64 * kMiB};
  EXPECT_NE(MemoryPlan(config, Backend::kCpu, 1)
                .Sum()
                .find("641 MiB received (2 x --max-bytes-in-flight 64 MiB + 513 MiB)"),
            std::string::npos);
}

// The rule: a machine of 4 GB serves with the options as they come, one of 2 GB does not.
TEST(MemoryPlanTest, TheDefaultsFitInAMachineOfFourGigabytes) {
  const MemoryPlan plan(Config{.workers_per_device = 4}, Backend::kCpu, 1);
  EXPECT_TRUE(plan.Fits(Limit(3700)).ok());
  const absl::Status status = plan.Fits(Limit(2000));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "memory: " + plan.Sum() +
                ", which is above 0.85 of 2000 MiB (memory.max of /sys/fs/cgroup), 1700 MiB; "
                "lower --max-bytes-in-flight, which counts twice, or other options of the sum, or "
                "raise the limit");
}

TEST(MemoryPlanTest, ItFitsUpToTheShareOfTheLimit) {
  const MemoryPlan plan(Config{.workers_per_device = 4}, Backend::kCpu, 1);  // 2704 MiB
  EXPECT_TRUE(plan.Fits(Limit(3182)).ok());
  EXPECT_FALSE(plan.Fits(Limit(3181)).ok());
}

// What is lowered as the error says does fit.
TEST(MemoryPlanTest, ASmallMachineServesWithLessInFlight) {
  const Config config{.workers_per_device = 4, .max_bytes_in_flight = 256 * kMiB};
  EXPECT_TRUE(MemoryPlan(config, Backend::kCpu, 1).Fits(Limit(2000)).ok());
}

TEST(MemoryPlanTest, RequestsShareWhatIsNotSetAside) {
  const MemoryPlan plan(Config{.workers_per_device = 4}, Backend::kCpu, 1);
  EXPECT_EQ(plan.LeftForRequests(Limit(4000)), (3400 - 2704 + 320) * kMiB);
  EXPECT_EQ(plan.LeftForRequests(Limit(100)), 0);
}

TEST(MemoryPlanTest, TheLargestOptionsAreSummedWithoutOverflow) {
  const std::int64_t most = std::int64_t{1} << 50;
  const Config config{.workers_per_device = 1024,
                      .staging_buffer_bytes = std::int64_t{1} << 30,
                      .staging_buffers_per_worker = 64,
                      .scratch_bytes = most,
                      .max_bytes_in_flight = most};
  const MemoryPlan plan(config, Backend::kCuda, 64);
  EXPECT_FALSE(plan.Fits(Limit(4096)).ok());
  EXPECT_EQ(plan.LeftForRequests(Limit(4096)), 0);
}

}  // namespace
}  // namespace warpfold
