// Which devices tensors go to, and those that lie on several.
#include <cstdint>
#include <string>
#include <variant>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "server/core/base/refusal.h"
#include "tests/server/tensor_table_fixture.h"

namespace warpfold {
namespace {

class TwoDevicesTest : public TensorTableTest {
 protected:
  TwoDevicesTest() {
    auto second = std::make_unique<FakeDevice>("fake:1");
    second_ = second.get();
    executors_.push_back(std::move(second));
    Remake();
  }
  FakeDevice* second_ = nullptr;
};

TEST_F(TwoDevicesTest, ATensorGoesWhereThereIsMostRoom) {
  Create(60);
  Create(50);
  EXPECT_EQ(second_->tensor_bytes(), 50);
  Create(10);
  EXPECT_EQ(second_->tensor_bytes(), 60);
}

// Of tensors of bytes a cut falls at a multiple of 4096.
class SplitTableTest : public TwoDevicesTest {
 protected:
  static constexpr std::int64_t kHalf = 40960;
  SplitTableTest() {
    ResidentLimits limits = kLimits;
    limits.bytes_max = 50000;
    limits.tensor_bytes_max = 90000;
    limits.split_bytes_min = 2 * kHalf;
    table_->SetLimits(limits);
  }
};

TEST_F(SplitTableTest, ALargeTensorLiesOnBothDevices) {
  Create(2 * kHalf - 40000);
  EXPECT_EQ(second_->tensor_bytes(), 0) << "a smaller one does not";
  EXPECT_TRUE(table_->Delete(Everyone(), table_->List(Everyone())[0].id).ok());
  const std::string id = CreateWhole(2 * kHalf);
  EXPECT_EQ(device_->tensor_bytes(), kHalf);
  EXPECT_EQ(second_->tensor_bytes(), kHalf);
  EXPECT_EQ(table_->List(Everyone())[0].device, "fake:0,fake:1");
  const absl::StatusOr<TensorReadLease> lease = table_->Read(Everyone(), id, false);
  const absl::Span<const Shard> shards = lease->shards();
  ASSERT_EQ(shards.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const Shard& shard = shards[i];
    EXPECT_EQ(shard.device, &executors_[i]->info());
    EXPECT_EQ(shard.offset_bytes, static_cast<std::int64_t>(i) * kHalf);
    EXPECT_EQ(shard.size_bytes, kHalf);
    EXPECT_EQ(shard.data[kHalf - 1], std::byte{7});
  }
}

TEST_F(SplitTableTest, AWriteHasTheShardsOfItsRange) {
  const std::string id = Create(2 * kHalf);
  const absl::StatusOr<TensorWriteLease> before = table_->Write(Everyone(), id, 100, 200);
  ASSERT_EQ(before->shards().size(), 1U);
  const absl::StatusOr<TensorWriteLease> over = table_->Write(Everyone(), id, kHalf - 10, 30);
  ASSERT_EQ(over->shards().size(), 2U);
  EXPECT_EQ(over->shards()[0].size_bytes, 10);
  EXPECT_EQ(over->shards()[0].data - before->shards()[0].data, kHalf - 10 - 100);
  EXPECT_EQ(over->shards()[1].size_bytes, 20);
  EXPECT_EQ(over->shards()[1].device, &second_->info());
  const absl::StatusOr<TensorWriteLease> after = table_->Write(Everyone(), id, kHalf + 20, 1);
  ASSERT_EQ(after->shards().size(), 1U);
  EXPECT_EQ(after->shards()[0].data - over->shards()[1].data, 20);
}

TEST_F(SplitTableTest, WhatOneDeviceHasNoMemoryForIsGivenBackOnAll) {
  second_->FailAllocation(absl::ResourceExhaustedError("out of memory"));
  const absl::Status status = table_->Create({}, Bytes(2 * kHalf), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(status))) << status;
  EXPECT_EQ(device_->tensor_bytes(), 0);
  Create(2 * kHalf);
}

TEST_F(SplitTableTest, ItFitsWhereEachDeviceHasRoomForItsPart) {
  const std::string small = Create(20000);
  absl::Status status = table_->Create({}, Bytes(2 * kHalf), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(status))) << status;
  EXPECT_TRUE(table_->Delete(Everyone(), small).ok());
  EXPECT_TRUE(table_->Delete(Everyone(), Create(2 * kHalf)).ok());
  // Over the limit of both together.
  for (const std::int64_t bytes : {std::int64_t{90001}, 2 * kHalf + 3 * 4096}) {
    ResidentLimits limits = kLimits;
    limits.bytes_max = 45000;
    limits.tensor_bytes_max = 94000;
    limits.split_bytes_min = kHalf;
    table_->SetLimits(limits);
    status = table_->Create({}, Bytes(bytes), milliseconds(0)).status();
    EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(status))) << status;
  }
}

TEST_F(SplitTableTest, ALostDeviceEndsWhatHasAPartThere) {
  const std::string id = CreateWhole(2 * kHalf);
  table_->DropDevice(second_->info());
  EXPECT_FALSE(Exists(id));
  EXPECT_EQ(device_->tensor_bytes(), 0);
  EXPECT_EQ(table_->state().ended[static_cast<std::size_t>(TensorEnd::kDeviceLost)], 1U);
  const absl::Status status = table_->Create({}, Bytes(2 * kHalf), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(status))) << status;
  Remake();
}

TEST_F(TwoDevicesTest, TheTensorsOfALostDeviceEndAndNewOnesGoElsewhere) {
  const std::string lost = CreateWhole(10);
  const std::string kept = CreateWhole(30);
  table_->DropDevice(executors_[0]->info());
  EXPECT_FALSE(Exists(lost));
  EXPECT_TRUE(Exists(kept));
  EXPECT_EQ(table_->state().ended[static_cast<std::size_t>(TensorEnd::kDeviceLost)], 1U);
  Create(20);
  EXPECT_EQ(device_->tensor_bytes(), 0);
  EXPECT_EQ(second_->tensor_bytes(), 50);
  table_->DropDevice(second_->info());
  EXPECT_EQ(table_->Create({}, Bytes(1), milliseconds(0)).status().code(),
            StatusCode::kUnavailable);
  Remake();
}

}  // namespace
}  // namespace warpfold
