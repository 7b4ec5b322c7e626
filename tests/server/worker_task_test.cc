// Tasks of every action through a scheduler, on workers of a fake device.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/scheduling/scheduler.h"
#include "tests/server/fake_device.h"
#include "tests/server/fake_task.h"

namespace warpfold {
namespace {

class WorkerTaskTest : public ::testing::Test {
 protected:
  WorkerTaskTest() {
    devices_.push_back(std::make_unique<FakeDevice>("fake:0"));
    devices_.push_back(std::make_unique<FakeDevice>("fake:1"));
    scheduler_ = *Scheduler::Create(devices_, {.workers = 1});
  }
  FakeDevice& second() { return static_cast<FakeDevice&>(*devices_[1]); }

  std::vector<std::unique_ptr<Executor>> devices_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(WorkerTaskTest, AWrittenTensorIsReducedOnItsOwnDevice) {
  // More than the fake's staging_buffer.
  const auto memory = *second().AllocateTensor(100 * sizeof(std::int64_t));
  FakeTask write(100, nullptr, /*is_sending=*/true);
  write.SetAction(WriteTensor{memory->data(), 800}, &second().info());
  ASSERT_TRUE(scheduler_->Submit(&write).ok());
  EXPECT_TRUE(write.Await().outcome.ok()) << write.Await().outcome.status();
  EXPECT_EQ(write.Await().device->name, "fake:1");

  FakeTask reduce(100);
  reduce.SetAction(ReduceTensor{memory->data()}, &second().info());
  ASSERT_TRUE(scheduler_->Submit(&reduce).ok());
  const TaskReport& report = reduce.Await();
  ASSERT_TRUE(report.outcome.ok()) << report.outcome.status();
  EXPECT_EQ(report.device->name, "fake:1");
  EXPECT_EQ(report.receive.count(), 0);
  std::int64_t sum = 0;
  std::memcpy(&sum, report.outcome->results[0].data(), sizeof(sum));
  EXPECT_EQ(sum, 5050);
}

TEST_F(WorkerTaskTest, AWriteThatFailsIsAbandonedAndTheWorkerGoesOn) {
  const auto memory = *second().AllocateTensor(80);
  FakeTask write(10);
  write.SetAction(WriteTensor{memory->data(), 80}, &second().info());
  write.fake_payload().FailRead(absl::InvalidArgumentError("chunk: wrong"));
  ASSERT_TRUE(scheduler_->Submit(&write).ok());
  EXPECT_EQ(write.Await().outcome.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(second().counts().abandoned, 1);

  second().FailBegin(absl::ResourceExhaustedError("no scratch"));
  FakeTask refused(10);
  refused.SetAction(WriteTensor{memory->data(), 80}, &second().info());
  ASSERT_TRUE(scheduler_->Submit(&refused).ok());
  EXPECT_EQ(refused.Await().outcome.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(second().counts().abandoned, 2);

  FakeTask next(10);
  next.SetAction(WriteTensor{memory->data(), 80}, &second().info());
  ASSERT_TRUE(scheduler_->Submit(&next).ok());
  EXPECT_TRUE(next.Await().outcome.ok());
}

}  // namespace
}  // namespace warpfold
