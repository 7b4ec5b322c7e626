// Regions of shared memory: what is registered, what is refused and counted, and when it goes.
#include "server/core/regions/region_table.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/core/base/refusal.h"
#include "server/core/request/region_payload.h"
#include "server/core/scheduling/scheduler.h"
#include "tests/server/fake_device.h"
#include "tests/server/owned_task.h"
#include "tests/shm_segment.h"

namespace warpfold {
namespace {

using absl::StatusCode;

// The numbers 1..count as bytes.
std::string Numbers(std::int64_t count) {
  std::string bytes;
  for (std::int64_t i = 1; i <= count; ++i) bytes.append(reinterpret_cast<const char*>(&i), 8);
  return bytes;
}

class RegionTableTest : public ::testing::Test {
 protected:
  RegionTableTest() {
    devices_.push_back(std::make_unique<FakeDevice>("fake:0"));
    limits_.shared_prefix = ShmSegment::kPrefix;
    limits_.regions_max = 3;
    limits_.shared_bytes_max = 10'000;
    limits_.cuda_bytes_max = 1'000;
    table_ = std::make_unique<RegionTable>(devices_, limits_);
  }
  ~RegionTableTest() override {
    for (const RegionReport& region : table_->List(Everyone()))
      EXPECT_TRUE(Unregister(region.name.name).ok());
    AwaitClosed();
    EXPECT_EQ(table_->state().of(RegionKind::kSystem).count, 0);
    EXPECT_EQ(table_->state().of(RegionKind::kSystem).bytes, 0);
    EXPECT_EQ(table_->state().of(RegionKind::kCuda).count, 0);
    EXPECT_EQ(table_->state().of(RegionKind::kCuda).bytes, 0);
    EXPECT_EQ(device().mapped_bytes(), 0);
    EXPECT_EQ(device().peer_bytes(), 0);
  }
  FakeDevice& device() { return static_cast<FakeDevice&>(*devices_[0]); }
  absl::Status Unregister(const std::string& name) {
    absl::Status status;
    absl::Notification done;
    table_->Unregister(Everyone(), {"", name}, [&](absl::Status ended) {
      status = std::move(ended);
      done.Notify();
    });
    done.WaitForNotification();
    return status;
  }
  void UnregisterAll(RegionKind kind, const RegionName& name) {
    absl::Notification done;
    table_->UnregisterAll(kind, name, [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      done.Notify();
    });
    done.WaitForNotification();
  }
  // Until what nobody uses any more is closed.
  void AwaitClosed() { UnregisterAll(RegionKind::kSystem, {"", "no such name"}); }

  // `field` begins the message.
  static void ExpectStatus(const absl::Status& status, StatusCode code, const std::string& field) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(status.message().substr(0, field.size()), field);
  }

  std::vector<std::unique_ptr<Executor>> devices_;
  RegionLimits limits_;
  std::unique_ptr<RegionTable> table_;
  const ShmSegment segment_{Numbers(100)};
};

TEST_F(RegionTableTest, ARegionIsReadThroughItsLeaseUntilTheLastOneGoes) {
  ASSERT_TRUE(table_->RegisterShared({"", "r"}, segment_.key(), 80, 720).ok());
  segment_.Unlink();
  absl::StatusOr<RegionLease> lease = table_->Use({"", "r"}, 8, 16);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->mapped(), nullptr);
  EXPECT_EQ(table_->List(Everyone())[0].uses, 1);
  EXPECT_TRUE(Unregister("r").ok());
  ExpectStatus(Unregister("r"), StatusCode::kNotFound, "name: ");
  ExpectStatus(table_->Use({"", "r"}, 0, 8).status(), StatusCode::kNotFound, "memory.name: ");
  EXPECT_EQ(table_->state().of(RegionKind::kSystem).count, 1) << "still in use";
  EXPECT_EQ(table_->state().of(RegionKind::kSystem).bytes, 720);
  std::string two(16, '\0');
  ASSERT_TRUE(
      lease->Read(0, absl::MakeSpan(reinterpret_cast<std::byte*>(two.data()), two.size())).ok());
  EXPECT_EQ(two, Numbers(13).substr(88, 16));
  lease->Release();
  AwaitClosed();
  EXPECT_EQ(table_->state().of(RegionKind::kSystem).count, 0);
}

TEST_F(RegionTableTest, NamesAndKeysThatAreNone) {
  ExpectStatus(table_->RegisterShared({"", ""}, segment_.key(), 0, 8), StatusCode::kInvalidArgument,
               "name: ");
  ExpectStatus(table_->RegisterShared({"", std::string(257, 'n')}, segment_.key(), 0, 8),
               StatusCode::kInvalidArgument, "name: ");
  for (const std::string& key :
       {std::string(), std::string("/"), std::string("/.."), segment_.key() + "/x",
        "/../dev/shm" + segment_.key(), "/" + segment_.key(), std::string(256, 'k'),
        segment_.key() + std::string(1, '\0')}) {
    ExpectStatus(table_->RegisterShared({"", "r"}, key, 0, 8), StatusCode::kInvalidArgument,
                 "key: ");
  }
  ExpectStatus(table_->RegisterShared({"", "r"}, "/other", 0, 8), StatusCode::kPermissionDenied,
               "key: ");
  ExpectStatus(table_->RegisterShared({"", "r"}, "/warpfold-test", 0, 8),
               StatusCode::kPermissionDenied, "key: ");
  ExpectStatus(table_->RegisterShared({"", "r"}, "/warpfold-test-none", 0, 8),
               StatusCode::kNotFound, "key: ");
  EXPECT_TRUE(table_->RegisterShared({"", "r"}, segment_.key().substr(1), 0, 8).ok())
      << "without '/'";
}

TEST_F(RegionTableTest, APrefixOfASlashTakesEveryName) {
  const ShmSegment other("12345678", "/other-warpfold-test-");
  limits_.shared_prefix = "/";
  table_->SetLimits(limits_);
  EXPECT_TRUE(table_->RegisterShared({"", "r"}, other.key(), 0, 8).ok());
}

TEST_F(RegionTableTest, WhatIsNoSegmentIsNotOpened) {
  const std::string name = std::string(ShmSegment::kPrefix) + "special";
  const std::string path = "/dev/shm" + name;
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectStatus(table_->RegisterShared({"", "r"}, name, 0, 8), StatusCode::kPermissionDenied,
               "key: ");
  unlink(path.c_str());
  ASSERT_EQ(symlink("/etc/passwd", path.c_str()), 0);
  ExpectStatus(table_->RegisterShared({"", "r"}, name, 0, 8), StatusCode::kPermissionDenied,
               "key: ");
  unlink(path.c_str());
}

// Opening it to read alone would wait for a writer.
TEST_F(RegionTableTest, APipeThatMayOnlyBeReadHoldsUpNobody) {
  const std::string name = std::string(ShmSegment::kPrefix) + "pipe";
  const std::string path = "/dev/shm" + name;
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0444), 0);
  constexpr uid_t kNobody = 65534;
  const bool is_root = geteuid() == 0;  // who may write all the same
  ASSERT_TRUE(!is_root || seteuid(kNobody) == 0);
  const absl::Status refused = table_->RegisterShared({"", "r"}, name, 0, 8);
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  ExpectStatus(refused, StatusCode::kPermissionDenied, "key: is no shared memory segment");
  unlink(path.c_str());
}

TEST_F(RegionTableTest, RangesOutsideTheSegmentOrTheRegion) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const auto offered = [this](std::int64_t offset, std::int64_t size) {
    return table_->RegisterShared({"", "r"}, segment_.key(), offset, size);
  };
  ExpectStatus(offered(-1, 8), StatusCode::kInvalidArgument, "offset_bytes: ");
  ExpectStatus(offered(801, 8), StatusCode::kInvalidArgument, "offset_bytes: ");
  ExpectStatus(offered(kMax, 8), StatusCode::kInvalidArgument, "offset_bytes: ");
  ExpectStatus(offered(0, 0), StatusCode::kInvalidArgument, "size_bytes: ");
  ExpectStatus(offered(0, -5), StatusCode::kInvalidArgument, "size_bytes: ");
  ExpectStatus(offered(0, 801), StatusCode::kInvalidArgument, "size_bytes: ");
  ExpectStatus(offered(8, 800), StatusCode::kInvalidArgument, "size_bytes: ");
  ASSERT_TRUE(offered(0, 800).ok());
  const auto used = [this](std::int64_t offset, std::int64_t size) {
    return table_->Use({"", "r"}, offset, size).status();
  };
  ExpectStatus(used(-1, 8), StatusCode::kInvalidArgument, "memory.offset_bytes: ");
  ExpectStatus(used(801, 0), StatusCode::kInvalidArgument, "memory.offset_bytes: ");
  ExpectStatus(used(kMax, kMax), StatusCode::kInvalidArgument, "memory.offset_bytes: ");
  ExpectStatus(used(0, -1), StatusCode::kInvalidArgument, "memory.size_bytes: ");
  ExpectStatus(used(8, kMax), StatusCode::kInvalidArgument, "memory.size_bytes: ");
  ExpectStatus(used(8, 793), StatusCode::kInvalidArgument, "memory.size_bytes: ");
  EXPECT_TRUE(used(800, 0).ok());
  EXPECT_TRUE(used(0, 800).ok());
}

TEST_F(RegionTableTest, ATakenNameAndAFullTableAreRefused) {
  ASSERT_TRUE(table_->RegisterShared({"", "a"}, segment_.key(), 0, 8).ok());
  ExpectStatus(table_->RegisterShared({"", "a"}, segment_.key(), 0, 8), StatusCode::kAlreadyExists,
               "name: ");
  ASSERT_TRUE(table_->RegisterShared({"", "b"}, segment_.key(), 0, 8).ok());
  ASSERT_TRUE(table_->RegisterShared({"", "c"}, segment_.key(), 0, 8).ok());
  absl::Status full = table_->RegisterShared({"", "d"}, segment_.key(), 0, 8);
  EXPECT_TRUE(std::holds_alternative<RetryLater>(RefusalOf(full).value())) << full;
  EXPECT_TRUE(Unregister("c").ok());
  segment_.Truncate(20'000);
  full = table_->RegisterShared({"", "d"}, segment_.key(), 0, 9'985);
  EXPECT_TRUE(std::holds_alternative<RetryLater>(RefusalOf(full).value())) << full;
  full = table_->RegisterShared({"", "d"}, segment_.key(), 0, 10'001);
  EXPECT_TRUE(std::holds_alternative<NeverFits>(RefusalOf(full).value())) << full;
  EXPECT_EQ(table_->state().refused, 2);
  EXPECT_TRUE(table_->RegisterShared({"", "d"}, segment_.key(), 0, 9'984).ok());
}

TEST_F(RegionTableTest, OffUntilThereIsAPrefix) {
  RegionTable off(devices_, {});
  ExpectStatus(off.RegisterShared({"", "r"}, segment_.key(), 0, 8), StatusCode::kUnimplemented,
               "key: ");
  off.SetLimits(limits_);
  EXPECT_TRUE(off.RegisterShared({"", "r"}, segment_.key(), 0, 8).ok());
}

TEST_F(RegionTableTest, ATruncatedSegmentIsAnErrorBeforeAndInTheMiddleOfAUse) {
  ASSERT_TRUE(table_->RegisterShared({"", "r"}, segment_.key(), 0, 800).ok());
  RegionPayload payload;
  payload.Set(*table_->Use({"", "r"}, 0, 800));
  std::vector<std::byte> half(400);
  EXPECT_TRUE(payload.ReadInto(absl::MakeSpan(half)).ok());
  segment_.Truncate(0);  // a page that is gone: SIGBUS for whoever reads it in a mapping
  ExpectStatus(payload.ReadInto(absl::MakeSpan(half)), StatusCode::kFailedPrecondition,
               "memory.name: ");
  segment_.Truncate(796);
  ExpectStatus(payload.ReadInto(absl::MakeSpan(half)), StatusCode::kFailedPrecondition,
               "memory.name: ");
  ExpectStatus(table_->Use({"", "r"}, 0, 8).status(), StatusCode::kFailedPrecondition,
               "memory.name: ");
  segment_.Truncate(800);
  EXPECT_TRUE(table_->Use({"", "r"}, 0, 800).ok());
}

TEST_F(RegionTableTest, ADeviceThatMapsReadsInPlace) {
  device().MapsShared();
  ASSERT_TRUE(table_->RegisterShared({"", "r"}, segment_.key(), 80, 720).ok());
  EXPECT_TRUE(table_->List(Everyone())[0].in_place);
  EXPECT_EQ(device().mapped_bytes(), 720);
  RegionLease lease = *table_->Use({"", "r"}, 8, 8);
  std::int64_t number = 0;
  std::memcpy(&number, lease.mapped(), sizeof(number));
  EXPECT_EQ(number, 12);
  EXPECT_TRUE(Unregister("r").ok());
  EXPECT_EQ(device().mapped_bytes(), 720) << "still in use";
}

TEST_F(RegionTableTest, ADeviceThatCannotMapLeavesNothing) {
  device().FailMap(absl::ResourceExhaustedError("key: no pages"));
  ExpectStatus(table_->RegisterShared({"", "r"}, segment_.key(), 0, 8),
               StatusCode::kResourceExhausted, "key: ");
  EXPECT_EQ(table_->state().of(RegionKind::kSystem).count, 0);
  EXPECT_TRUE(table_->RegisterShared({"", "r"}, segment_.key(), 0, 8).ok());
}

TEST_F(RegionTableTest, CudaMemoryIsOpenUntilItsLastLeaseGoes) {
  ASSERT_TRUE(table_->RegisterCuda({"", "r"}, Numbers(10), 0, 80).ok());
  const std::vector<RegionReport> listed = table_->List(Everyone());
  EXPECT_EQ(listed[0].kind, RegionKind::kCuda);
  EXPECT_EQ(listed[0].device, "fake:0");
  EXPECT_EQ(table_->state().of(RegionKind::kCuda).bytes, 80);
  EXPECT_EQ(table_->state().of(RegionKind::kSystem).bytes, 0);
  RegionLease lease = *table_->Use({"", "r"}, 16, 8);
  EXPECT_EQ(lease.device(), &device().info());
  EXPECT_EQ(*lease.device_data(), std::byte{3});
  EXPECT_TRUE(lease.Write("changed.").ok());
  EXPECT_EQ(*lease.device_data(), std::byte{'c'});
  EXPECT_TRUE(Unregister("r").ok());
  EXPECT_EQ(device().peer_bytes(), 80);
  lease.Release();
  AwaitClosed();
  EXPECT_EQ(device().peer_bytes(), 0);
}

TEST_F(RegionTableTest, ClosingHoldsUpNobody) {
  ASSERT_TRUE(table_->RegisterCuda({"", "r"}, Numbers(10), 0, 80).ok());
  ASSERT_TRUE(table_->RegisterCuda({"", "used"}, Numbers(10), 0, 80).ok());
  RegionLease lease = *table_->Use({"", "used"}, 0, 8);
  const auto gate = std::make_shared<absl::Notification>();
  device().HoldPeers(gate);
  absl::Notification ended;
  table_->Unregister(Everyone(), {"", "r"}, [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(device().peer_bytes(), 80) << "told before it was closed";
    ended.Notify();
  });
  table_->Unregister(Everyone(), {"", "used"},
                     [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  lease.Release();
  EXPECT_TRUE(table_->List(Everyone()).empty());
  EXPECT_EQ(table_->state().of(RegionKind::kCuda).bytes, 160);
  EXPECT_FALSE(ended.HasBeenNotified());
  gate->Notify();
  ended.WaitForNotification();
}

TEST_F(RegionTableTest, CudaMemoryThatIsRefused) {
  const auto offered = [this](const std::string& handle, std::int64_t ordinal, std::int64_t size) {
    return table_->RegisterCuda({"", "r"}, handle, ordinal, size);
  };
  ExpectStatus(offered("", 0, 8), StatusCode::kInvalidArgument, "handle: ");
  ExpectStatus(offered("8 bytes.", 0, 9), StatusCode::kInvalidArgument, "size_bytes: ");
  ExpectStatus(offered("8 bytes.", 0, 0), StatusCode::kInvalidArgument, "size_bytes: ");
  ExpectStatus(offered("8 bytes.", 1, 8), StatusCode::kInvalidArgument, "device_ordinal: ");
  ExpectStatus(offered("8 bytes.", -1, 8), StatusCode::kInvalidArgument, "device_ordinal: ");
  ExpectStatus(offered("8 bytes.", 0, 1'001), StatusCode::kResourceExhausted, "size_bytes: ");
  ASSERT_TRUE(table_->RegisterShared({"", "r"}, segment_.key(), 0, 8).ok());
  ExpectStatus(offered("8 bytes.", 0, 8), StatusCode::kAlreadyExists, "name: ");
  RegionTable off(devices_, {});
  ExpectStatus(off.RegisterCuda({"", "r"}, "8 bytes.", 0, 8), StatusCode::kUnimplemented,
               "handle: ");
}

TEST_F(RegionTableTest, AllOfOneKindEndAtOnce) {
  ASSERT_TRUE(table_->RegisterCuda({"", "a"}, "8 bytes.", 0, 8).ok());
  ASSERT_TRUE(table_->RegisterShared({"", "b"}, segment_.key(), 0, 8).ok());
  ASSERT_TRUE(table_->RegisterShared({"", "c"}, segment_.key(), 0, 8).ok());
  UnregisterAll(RegionKind::kCuda, {"", "b"});
  EXPECT_EQ(table_->List(Everyone()).size(), 3) << "another kind";
  UnregisterAll(RegionKind::kSystem, {"", ""});
  ASSERT_EQ(table_->List(Everyone()).size(), 1);
  EXPECT_EQ(table_->List(Everyone())[0].name.name, "a");
}

// By owner and name the table is in order: what stands before and behind stays.
TEST_F(RegionTableTest, AllIsAllOfTheOwner) {
  const Caller admin{.name = "admin", .scopes = {Scope::kMemory, Scope::kAdmin}};
  for (const char* owner : {"a", "b", "c"}) {
    ASSERT_TRUE(table_->RegisterShared({owner, "x"}, segment_.key(), 0, 8).ok());
  }
  UnregisterAll(RegionKind::kSystem, {"b", "w"});
  EXPECT_EQ(table_->List(admin).size(), 3);
  UnregisterAll(RegionKind::kSystem, {"b", "x"});
  ASSERT_EQ(table_->List(admin).size(), 2);
  UnregisterAll(RegionKind::kSystem, {"a", ""});
  ASSERT_EQ(table_->List(admin).size(), 1);
  EXPECT_EQ(table_->List(admin)[0].name.owner, "c");
  UnregisterAll(RegionKind::kSystem, {"c", ""});
}

TEST_F(RegionTableTest, ResultsGoToMemoryOnGpusWhereTheOperatorSaysSo) {
  ASSERT_TRUE(table_->RegisterCuda({"", "on a GPU"}, "8 bytes.", 0, 8).ok());
  ASSERT_TRUE(table_->RegisterShared({"", "on the host"}, segment_.key(), 0, 8).ok());
  EXPECT_TRUE(table_->UseForResults({"", "on the host"}, 0, 8).ok());
  ExpectStatus(table_->UseForResults({"", "on a GPU"}, 0, 8).status(), StatusCode::kUnimplemented,
               "memory.name: ");
  ExpectStatus(table_->UseForResults({"", "none"}, 0, 8).status(), StatusCode::kNotFound,
               "memory.name: ");
  limits_.cuda_takes_results = true;
  table_->SetLimits(limits_);
  EXPECT_TRUE(table_->UseForResults({"", "on a GPU"}, 0, 8).ok());
}

// A reduction whose bytes are in a region.
class RegionTask final : public OwnedTask {
 public:
  RegionTask(RegionLease lease, std::int64_t count) {
    payload_.Set(std::move(lease));
    payload = &payload_;
    plan_ = *MakePlan({.dtype = DType::kI64, .shape = {count}, .ops = {Op::kSum}, .axes = {}});
    plan = &plan_;
  }
  // The sum.
  std::int64_t Await() {
    done_.WaitForNotification();
    EXPECT_TRUE(report_.outcome.ok()) << report_.outcome.status();
    std::int64_t sum = 0;
    if (report_.outcome.ok()) std::memcpy(&sum, report_.outcome->results[0].data(), 8);
    return sum;
  }
  void OnDone(TaskReport report) override {
    report_ = std::move(report);
    done_.Notify();
  }

 private:
  RegionPayload payload_;
  Plan plan_;
  TaskReport report_;
  absl::Notification done_;
};

TEST_F(RegionTableTest, WorkersSumWhatIsStagedAndWhatTheyReadInPlace) {
  const auto scheduler = *Scheduler::Create(devices_, {.workers = 1});
  ASSERT_TRUE(table_->RegisterShared({"", "staged"}, segment_.key(), 0, 800).ok());
  device().MapsShared();
  ASSERT_TRUE(table_->RegisterShared({"", "mapped"}, segment_.key(), 0, 800).ok());
  for (const char* name : {"staged", "mapped"}) {
    RegionTask task(*table_->Use({"", name}, 80, 720), 90);
    ASSERT_TRUE(scheduler->Submit(&task).ok());
    EXPECT_EQ(task.Await(), 5050 - 55) << name;
  }
  EXPECT_EQ(device().counts().in_place, 12) << "720 bytes through staging buffers of 64";
}

}  // namespace
}  // namespace warpfold
