#include "server/core/tensors/tensor_table.h"

#include <limits>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/field_error.h"
#include "server/core/base/refusal.h"
#include "tests/server/tensor_table_fixture.h"

namespace warpfold {
namespace {

TEST_F(TensorTableTest, ATensorIsReducedOnceAllItsBytesAreWritten) {
  const std::string id = Create(10);
  EXPECT_EQ(table_->Read(Everyone(), id, false).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*Write(id, 6, 4), 6);
  EXPECT_EQ(*Write(id, 0, 5), 1);
  EXPECT_EQ(table_->Read(Everyone(), id, false).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(table_->state().incomplete.bytes, 10);
  EXPECT_EQ(*Write(id, 5, 1), 0);
  const absl::StatusOr<TensorReadLease> lease = table_->Read(Everyone(), id, false);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->shape(), Bytes(10));
  EXPECT_EQ(lease->shards()[0].data[9], std::byte{7});
  EXPECT_EQ(lease->shards()[0].device, &executors_[0]->info());
  EXPECT_EQ(lease->devices().name, "fake:0");
  EXPECT_EQ(table_->state().complete.count, 1);
  EXPECT_EQ(table_->state().reductions, 1);
}

TEST_F(TensorTableTest, ATensorWithoutBytesIsCompleteAtOnce) {
  const std::string id = Create(0);
  const absl::StatusOr<TensorReadLease> lease = table_->Read(Everyone(), id, false);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->shards()[0].data, nullptr);
}

TEST_F(TensorTableTest, AWriteThatFailsLeavesItsBytesNotWritten) {
  const std::string id = CreateWhole(10);
  {
    const absl::StatusOr<TensorWriteLease> lease = table_->Write(Everyone(), id, 2, 3);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(table_->Read(Everyone(), id, false).status().code(), StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(table_->Read(Everyone(), id, false).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*Write(id, 2, 3), 0);
  EXPECT_TRUE(table_->Read(Everyone(), id, false).ok());
}

TEST_F(TensorTableTest, TwoWritersOnOneByteExcludeEachOther) {
  const std::string id = Create(10);
  absl::StatusOr<TensorWriteLease> first = table_->Write(Everyone(), id, 0, 5);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(table_->Write(Everyone(), id, 4, 2).status().code(), StatusCode::kAborted);
  absl::StatusOr<TensorWriteLease> second = table_->Write(Everyone(), id, 5, 5);
  ASSERT_TRUE(second.ok()) << "neighbours do not overlap: " << second.status();
  EXPECT_EQ(*first->Commit(), 5);
  EXPECT_EQ(table_->Write(Everyone(), id, 5, 1).status().code(), StatusCode::kAborted);
  EXPECT_EQ(*second->Commit(), 0);
  EXPECT_EQ(*Write(id, 4, 2), 0);
}

TEST_F(TensorTableTest, ATensorThatIsReducedIsNotWritten) {
  const std::string id = CreateWhole(10);
  {
    const absl::StatusOr<TensorReadLease> lease = table_->Read(Everyone(), id, false);
    EXPECT_EQ(table_->Write(Everyone(), id, 0, 1).status().code(), StatusCode::kAborted);
    EXPECT_TRUE(table_->Read(Everyone(), id, false).ok()) << "reductions do not exclude each other";
  }
  EXPECT_EQ(*Write(id, 0, 1), 0);
}

TEST_F(TensorTableTest, ARangeOutsideTheTensorNamesItsField) {
  const std::string id = Create(10);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const auto& [offset, size, field] :
       std::vector<std::tuple<std::int64_t, std::int64_t, std::string>>{{-1, 1, "offset_bytes"},
                                                                        {11, 1, "offset_bytes"},
                                                                        {10, 1, "size_bytes"},
                                                                        {0, 0, "size_bytes"},
                                                                        {0, -1, "size_bytes"},
                                                                        {0, 11, "size_bytes"},
                                                                        {5, kMax, "size_bytes"}}) {
    const absl::Status status = table_->Write(Everyone(), id, offset, size).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << offset << ' ' << size;
    EXPECT_EQ(std::string(status.message()).rfind(field, 0), 0U) << status;
  }
}

TEST_F(TensorTableTest, AnUploadInTooManyPiecesIsRefused) {
  ResidentLimits limits = kLimits;
  limits.bytes_max = limits.tensor_bytes_max = 1 << 20;
  table_->SetLimits(limits);
  const std::string id = Create(1 << 20);
  for (std::size_t i = 0; i < kTensorPiecesMax; ++i) {
    ASSERT_TRUE(Write(id, static_cast<std::int64_t>(2 * i), 1).ok());
  }
  const absl::Status status = Write(id, 2 * kTensorPiecesMax, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(status)));
  EXPECT_TRUE(table_->Delete(Everyone(), id).ok());
}

TEST_F(TensorTableTest, AnUploadInAsManyPiecesAsMayBeCanBeCompleted) {
  ResidentLimits limits = kLimits;
  limits.bytes_max = limits.tensor_bytes_max = 1 << 20;
  table_->SetLimits(limits);
  constexpr auto kBytes = static_cast<std::int64_t>(3 * kTensorPiecesMax);
  const std::string id = Create(kBytes);
  for (std::int64_t at = 0; at < kBytes; at += 3) ASSERT_TRUE(Write(id, at, 2).ok());
  EXPECT_TRUE(Write(id, 1, 1).ok()) << "a byte again";
  EXPECT_TRUE(Write(id, 2, 1).ok()) << "a gap";
  // Calls that fail leave a piece less, or cut it: that is bounded, too.
  std::size_t begun = 0;
  for (std::int64_t at = 6; at < kBytes && table_->Write(Everyone(), id, at + 1, 1).ok(); at += 3)
    ++begun;
  EXPECT_LT(begun, kTensorPiecesMax);
  EXPECT_EQ(*Write(id, 0, kBytes), 0) << "all of it";
  EXPECT_TRUE(table_->Delete(Everyone(), id).ok());
}

TEST_F(TensorTableTest, AnEndedTensorIsNotFoundAndItsMemoryGoesWithItsLastUse) {
  const std::string id = CreateWhole(10);
  absl::StatusOr<TensorReadLease> first = table_->Read(Everyone(), id, false);
  absl::StatusOr<TensorReadLease> second = table_->Read(Everyone(), id, false);
  EXPECT_TRUE(table_->Delete(Everyone(), id).ok());
  EXPECT_FALSE(Exists(id));
  EXPECT_EQ(table_->Delete(Everyone(), id).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(table_->Write(Everyone(), id, 0, 1).status().code(), StatusCode::kNotFound);
  first->Release();
  EXPECT_EQ(table_->state().ending.bytes, 10);
  EXPECT_EQ(second->shards()[0].data[0], std::byte{7});
  second->Release();
  EXPECT_EQ(table_->state().ending.bytes, 0);
  EXPECT_EQ(device_->tensor_bytes(), 0);
  EXPECT_EQ(table_->state().ended[static_cast<std::size_t>(TensorEnd::kDeleted)], 1U);
}

TEST_F(TensorTableTest, AWriterHearsThatItsTensorHasEnded) {
  const std::string id = Create(10);
  CancelToken writer;
  CancelToken before;
  table_->Write(Everyone(), id, 0, 10, &before)->Release();
  absl::StatusOr<TensorWriteLease> lease = table_->Write(Everyone(), id, 0, 10, &writer);
  EXPECT_TRUE(writer.CheckCancelled().ok());
  EXPECT_TRUE(table_->Delete(Everyone(), id).ok());
  EXPECT_EQ(writer.CheckCancelled(),
            FieldStatus(Field::kTensorId, absl::NotFoundError("the tensor has ended")));
  EXPECT_TRUE(before.CheckCancelled().ok()) << "its lease had been given back";
  EXPECT_EQ(device_->tensor_bytes(), 10);
  EXPECT_EQ(lease->Commit().status().code(), StatusCode::kNotFound);
  EXPECT_EQ(device_->tensor_bytes(), 0);
}

TEST_F(TensorTableTest, ConsumingEndsATensorOnceHoweverManyDo) {
  const std::string id = CreateWhole(10);
  absl::StatusOr<TensorReadLease> first = table_->Read(Everyone(), id, false);
  absl::StatusOr<TensorReadLease> second = table_->Read(Everyone(), id, false);
  first->Release(/*consume=*/true);
  EXPECT_FALSE(Exists(id));
  second->Release(/*consume=*/true);
  EXPECT_EQ(table_->state().ended[static_cast<std::size_t>(TensorEnd::kConsumed)], 1U);
}

TEST_F(TensorTableTest, TheTimeToLiveStartsAnewWithEachUse) {
  const std::string id = CreateWhole(10);  // 1000 ms
  const std::string longer = CreateWhole(10, milliseconds(4000));
  now_ += milliseconds(900);
  EXPECT_TRUE(Exists(id));
  now_ += milliseconds(900);
  absl::StatusOr<TensorReadLease> lease = table_->Read(Everyone(), id, false);
  ASSERT_TRUE(lease.ok()) << lease.status();
  now_ += milliseconds(2000);
  table_->Sweep();
  EXPECT_TRUE(Exists(id)) << "a tensor in use does not expire";
  lease->Release();
  EXPECT_EQ(table_->List(Everyone()).size(), 2U);
  now_ += milliseconds(1000);
  EXPECT_FALSE(Exists(id)) << "before anybody sweeps";
  EXPECT_TRUE(table_->List(Everyone()).empty()) << "both";
  EXPECT_EQ(device_->tensor_bytes(), 20);
  table_->Sweep();
  EXPECT_EQ(device_->tensor_bytes(), 0);
  EXPECT_EQ(table_->state().ended[static_cast<std::size_t>(TensorEnd::kExpired)], 2U);
  EXPECT_FALSE(Exists(longer));
}

TEST_F(TensorTableTest, ATimeToLiveOutOfRangeNamesItsField) {
  for (const int ttl_ms : {-1, 5001}) {
    const absl::Status status = table_->Create({}, Bytes(1), milliseconds(ttl_ms)).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()).rfind("ttl_ms: ", 0), 0U) << status;
  }
  EXPECT_EQ(table_->Create({}, Bytes(1), milliseconds(0))->ttl, milliseconds(1000));
  EXPECT_EQ(table_->Create({}, Bytes(1), milliseconds(5000))->ttl, milliseconds(5000));
}

TEST_F(TensorTableTest, WhatIsFullMayBeTriedAgainAndWhatNeverFitsNot) {
  const std::string id = Create(60);
  absl::Status status = table_->Create({}, Bytes(41), milliseconds(0)).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(status)));
  EXPECT_EQ(device_->tensor_bytes(), 60) << "memory was taken before the quota was asked";
  Create(20);
  Create(20);
  status = table_->Create({}, Bytes(0), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(status))) << "tensors: " << status;
  EXPECT_EQ(table_->state().refused, 2U);
  EXPECT_TRUE(table_->Delete(Everyone(), id).ok());
  EXPECT_TRUE(table_->Create({}, Bytes(60), milliseconds(0)).ok());

  status = table_->Create({}, Bytes(81), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(status))) << status;
  table_->SetLimits({.bytes_max = 50});
  status = table_->Create({}, Bytes(51), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(status))) << status;
}

TEST_F(TensorTableTest, ADeviceWithoutMemoryGivesTheReservationBack) {
  device_->FailAllocation(absl::ResourceExhaustedError("out of memory"));
  const absl::Status status = table_->Create({}, Bytes(80), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(status))) << status;
  EXPECT_EQ(table_->state().refused, 1U);
  Create(80);
}

TEST_F(TensorTableTest, ExpiredTensorsMakeRoomForNewOnes) {
  Create(80);
  now_ += milliseconds(1000);
  Create(80);
}

std::uint64_t MadeRoom(const TensorTable& table) {
  return table.state().ended[static_cast<std::size_t>(TensorEnd::kMadeRoom)];
}

TEST_F(TensorTableTest, ALongTimeToLiveHoldsWhileThereIsRoom) {
  const std::string first = Create(0, milliseconds(5000));
  now_ += milliseconds(1);
  const std::string second = Create(0, milliseconds(5000));
  now_ += milliseconds(1);
  const std::string third = Create(0, milliseconds(5000));
  now_ += milliseconds(997);
  EXPECT_EQ(table_->Create({}, Bytes(0), milliseconds(0)).status().code(),
            StatusCode::kResourceExhausted)
      << "the first was used 999 ms ago";
  now_ += milliseconds(1);
  EXPECT_TRUE(Exists(first));  // a use
  EXPECT_EQ(table_->Create({}, Bytes(0), milliseconds(0)).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_TRUE(Exists(second) && Exists(third) &&
              table_->state().ended == decltype(TensorTableState::ended){})
      << "used again";
  now_ += milliseconds(1000);
  EXPECT_TRUE(Exists(third));
  const std::string fourth = Create(0);
  EXPECT_EQ(MadeRoom(*table_), 1U);
  EXPECT_TRUE(Exists(third) && Exists(fourth));
  EXPECT_NE(Exists(first), Exists(second)) << "one was enough";
}

TEST_F(TensorTableTest, TheLongestUnusedMakeRoomAndNoMoreThanItTakes) {
  const std::string in_use = CreateWhole(20, milliseconds(5000));
  const absl::StatusOr<TensorReadLease> lease = table_->Read(Everyone(), in_use, false);
  now_ += milliseconds(1);
  const std::string longest = CreateWhole(50, milliseconds(5000));
  now_ += milliseconds(1);
  const std::string later = CreateWhole(30, milliseconds(5000));
  now_ += milliseconds(2000);
  Create(50);
  EXPECT_FALSE(Exists(longest));
  EXPECT_TRUE(Exists(later));
  EXPECT_EQ(MadeRoom(*table_), 1U);
  EXPECT_EQ(device_->tensor_bytes(), 100) << "its memory was given back first";
}

TEST_F(TensorTableTest, NobodyMakesRoomInVain) {
  const std::string in_use = CreateWhole(30, milliseconds(5000));
  absl::StatusOr<TensorReadLease> lease = table_->Read(Everyone(), in_use, false);
  const std::string unused = CreateWhole(50, milliseconds(5000));
  now_ += milliseconds(2000);
  const absl::Status status = table_->Create({}, Bytes(80), milliseconds(0)).status();
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*RefusalOf(status))) << status;
  EXPECT_TRUE(Exists(unused));
  EXPECT_EQ(MadeRoom(*table_), 0U);
  // A use of one starts its time anew, the end of the other's makes it free to go.
  lease->Release();
  now_ += milliseconds(1000);
  Create(80);
  EXPECT_EQ(MadeRoom(*table_), 2U);
}

TEST_F(TensorTableTest, IdsDoNotRepeat) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const std::string id = Create(1);
    ids.insert(id);
    EXPECT_TRUE(table_->Delete(Everyone(), id).ok());
  }
  EXPECT_EQ(ids.size(), 100U);
  for (const std::string& id : ids) EXPECT_EQ(id.size(), 32U);
}

TEST_F(TensorTableTest, ThreadsThatCreateWriteReadAndDeleteLeaveNothing) {
  ResidentLimits limits = kLimits;
  limits.tensors_max = 1000;
  limits.bytes_max = 1'000'000;
  table_->SetLimits(limits);
  const std::string shared = CreateWhole(64);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const std::string id = CreateWhole(64);
        { const absl::StatusOr<TensorReadLease> read = table_->Read(Everyone(), shared, false); }
        absl::StatusOr<TensorReadLease> own = table_->Read(Everyone(), id, false);
        if (i % 2 == 0) {
          EXPECT_TRUE(table_->Delete(Everyone(), id).ok());
          own->Release();
        } else {
          own->Release(/*consume=*/true);
        }
        (void)Write(shared, 0, 1);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(device_->tensor_bytes(), 64);
}

}  // namespace
}  // namespace warpfold
