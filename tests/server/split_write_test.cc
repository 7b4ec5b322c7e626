// Writes to tensors that lie split over three devices of the test's own: each byte to its place,
// and what becomes of a write when one of its devices fails, is full or goes away.
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/split_fixture.h"

namespace warpfold {
namespace {

using testing::ResidentTask;
using SplitWriteTest = SplitFixture;

TEST_F(SplitWriteTest, AWriteOverACutFillsBothSides) {
  const std::string id = PutOnes();
  const std::vector<std::int32_t> twos(1000, 2);
  for (const std::int64_t at : {kThird - 400, 2 * kThird - 3600}) {
    ASSERT_TRUE(devices_->Write(id, at, Bytes(twos)).ok());
  }
  EXPECT_EQ(devices_->Reduce(id, plan_)->results[0],
            testing::BytesOf<std::int64_t>(kElements + 2000));
  EXPECT_EQ(scheduler().state().load(), 0);
}

TEST_F(SplitWriteTest, AWriteThatBreaksOffLeavesItsRangeNotWritten) {
  const std::string id = PutOnes();
  for (const std::size_t after : {std::size_t{100}, static_cast<std::size_t>(kThird) + 100}) {
    ResidentTask write(*table().Write(Everyone(), id, 0, kElements * 4), Bytes(ones_));
    write.FailAfter(after);
    ASSERT_TRUE(scheduler().Submit(&write).ok());
    EXPECT_EQ(write.Await().outcome.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(table().Read(Everyone(), id, false).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(devices_->Write(id, 0, Bytes(ones_)).ok());
  ExpectSumOfOnes(id);
}

TEST_F(SplitWriteTest, AWriteIsRefusedByTheQueueOfALaterDevice) {
  const std::string id = PutOnes();
  const auto second = Fill(1);
  EXPECT_EQ(devices_->Write(id, 0, Bytes(ones_)).code(), absl::StatusCode::kResourceExhausted);
  faulty_[1]->Release();
  for (const auto& other : second) EXPECT_TRUE(other->Await().outcome.ok());
  EXPECT_TRUE(devices_->Write(id, 0, Bytes(ones_)).ok());
  ExpectSumOfOnes(id);
}

TEST_F(SplitWriteTest, AWriteThatWaitsForALaterDeviceIsTakenBack) {
  const std::string id = PutOnes();
  const auto second = Fill(1);
  ASSERT_TRUE(scheduler().Withdraw(second[1].get()));
  second[1]->Release();
  ResidentTask write(*table().Write(Everyone(), id, 0, kElements * 4), Bytes(ones_));
  ASSERT_TRUE(scheduler().Submit(&write).ok());
  while (scheduler().state().queued != 1) std::this_thread::yield();
  EXPECT_TRUE(scheduler().Withdraw(&write));
  EXPECT_EQ(scheduler().state().queued, 0);
  write.Release();
  faulty_[1]->Release();
  EXPECT_TRUE(second[0]->Await().outcome.ok());
}

TEST_F(SplitWriteTest, AWriteThatIsNotWantedStopsBeforeTheNextDevice) {
  const std::string id = PutOnes();
  const auto blocking = FillWorker(1);
  ResidentTask write(*table().Write(Everyone(), id, 0, kElements * 4), Bytes(ones_));
  ASSERT_TRUE(scheduler().Submit(&write).ok());
  while (scheduler().state().queued != 1) std::this_thread::yield();
  write.Cancel();
  faulty_[1]->Release();
  EXPECT_EQ(write.Await().outcome.status(), absl::CancelledError("cancelled"));
  EXPECT_TRUE(blocking->Await().outcome.ok());
}

TEST_F(SplitWriteTest, AWriteToALostDeviceFailsAndGoesNoFurther) {
  const std::string id = PutOnes();
  faulty_[0]->Lose();
  EXPECT_EQ(devices_->Write(id, 0, Bytes(ones_)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(scheduler().state().devices_lost, 1);
  EXPECT_EQ(table().Read(Everyone(), id, false).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace warpfold
