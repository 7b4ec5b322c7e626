// Callers that want the same resident memory and regions: each holds its share and no more.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/core/base/caller_share.h"
#include "server/core/base/refusal.h"
#include "server/core/regions/region_table.h"
#include "tests/server/fake_device.h"
#include "tests/server/tensor_table_fixture.h"
#include "tests/shm_segment.h"

namespace warpfold {
namespace {

bool MayBeTriedAgain(const absl::Status& status) {
  return std::holds_alternative<RetryLater>(*RefusalOf(status));
}

TEST(HoldingsTest, WhoHoldsNothingIsForgotten) {
  Holdings held;
  held.Add("a", 5);
  held.Add("a", 0);
  held.Add("b", 7);
  EXPECT_EQ(held.Of("a").count, 2);
  EXPECT_EQ(held.Of("a").bytes, 5);
  EXPECT_EQ(held.Of("c").count, 0);
  EXPECT_EQ(held.all().count, 3);
  EXPECT_EQ(held.all().bytes, 12);
  EXPECT_EQ(held.owners(), 2U);
  held.Remove("a", 5);
  EXPECT_EQ(held.owners(), 2U) << "a tensor of no bytes is one";
  held.Remove("a", 0);
  held.Remove("b", 7);
  EXPECT_EQ(held.owners(), 0U);
  EXPECT_EQ(held.all().count, 0);
  EXPECT_EQ(held.all().bytes, 0);
}

class TensorSharesTest : public TensorTableTest {
 protected:
  TensorSharesTest() { Limit(16, 1600); }
  void Limit(std::int64_t tensors, std::int64_t bytes) {
    ResidentLimits limits = kLimits;
    limits.tensors_max = tensors;
    limits.bytes_max = limits.tensor_bytes_max = bytes;
    table_->SetLimits(limits);
  }
  absl::StatusOr<TensorTable::Created> Ask(const std::string& owner, std::int64_t bytes,
                                           const CallerQuotas& quotas = {}) {
    return table_->Create({owner}, Bytes(bytes), milliseconds(5000), quotas);
  }
  // The ids of as many as it gets.
  std::vector<std::string> Fill(const std::string& owner, std::int64_t bytes,
                                const CallerQuotas& quotas = {}) {
    std::vector<std::string> ids;
    while (true) {
      const absl::StatusOr<TensorTable::Created> created = Ask(owner, bytes, quotas);
      if (!created.ok()) {
        EXPECT_TRUE(MayBeTriedAgain(created.status())) << created.status();
        return ids;
      }
      ids.push_back(created->id);
    }
  }
  // How many of them are still there.
  std::int64_t Left(const std::vector<std::string>& ids) {
    const Caller admin{.name = "admin", .scopes = {Scope::kAdmin}};
    const std::vector<TensorReport> all = table_->List(admin);
    return std::count_if(all.begin(), all.end(), [&](const TensorReport& tensor) {
      return std::find(ids.begin(), ids.end(), tensor.id) != ids.end();
    });
  }
  absl::Status Delete(const std::string& owner, const std::string& id) {
    return table_->Delete({.name = owner, .scopes = {}}, id).status();
  }
};

TEST_F(TensorSharesTest, ACallerHoldsAsManyTensorsAsAreLeft) {
  std::vector<std::string> greedy = Fill("greedy", 0);
  EXPECT_EQ(greedy.size(), 8U);
  EXPECT_EQ(Ask("greedy", 0).status().message(),
            "the caller holds its share of resident tensors (--max-resident-tensors): it has 8, "
            "all callers 8 of 16, and asks for 1 more; DeleteTensor frees some");
  EXPECT_EQ(Fill("modest", 0).size(), 4U);
  EXPECT_EQ(Fill("third", 0).size(), 2U);
  EXPECT_EQ(table_->state().refused_share, 4U);
  EXPECT_EQ(table_->state().refused, 0U);
  // What is given back is left for others.
  for (const std::string& id : greedy) EXPECT_TRUE(Delete("greedy", id).ok());
  EXPECT_EQ(Fill("modest", 0).size(), 3U);
}

TEST_F(TensorSharesTest, ACallerHoldsAsManyBytesAsAreLeft) {
  EXPECT_EQ(Fill("greedy", 300).size(), 2U);
  EXPECT_EQ(Ask("greedy", 300).status().message(),
            "the caller holds its share of resident bytes (--max-resident-bytes): it has 600, all "
            "callers 600 of 1600, and asks for 300 more; DeleteTensor frees some");
  EXPECT_EQ(Fill("modest", 300).size(), 1U);
  // What is its only one may be larger than its share.
  EXPECT_EQ(Fill("third", 700).size(), 1U);
  EXPECT_EQ(table_->state().refused, 1U) << "the second has no room";
  EXPECT_EQ(table_->state().refused_share, 3U);
}

TEST_F(TensorSharesTest, EveryoneHoldsAll) {
  EXPECT_EQ(Fill("", 100).size(), 16U);
  EXPECT_EQ(table_->state().refused_share, 0U);
}

TEST_F(TensorSharesTest, ATensorThatTheDeviceHasNoMemoryForIsNobodys) {
  for (int i = 0; i < 8; ++i) {
    device_->FailAllocation(absl::ResourceExhaustedError("out of memory"));
    EXPECT_FALSE(Ask("greedy", 100).ok());
  }
  EXPECT_EQ(Fill("greedy", 100).size(), 8U);
}

TEST_F(TensorSharesTest, WhoHoldsItsShareEndsItsOwnUnusedOnes) {
  const std::vector<std::string> modest = Fill("modest", 700);
  now_ += milliseconds(1);
  const std::vector<std::string> greedy = Fill("greedy", 150);
  EXPECT_EQ(greedy.size(), 3U);
  EXPECT_EQ(Ask("greedy", 150).status().message(),
            "the caller holds its share of resident bytes (--max-resident-bytes): it has 450, all "
            "callers 1150 of 1600, and asks for 150 more; DeleteTensor frees some");
  now_ += milliseconds(1000);
  // The other's is older, and there is room.
  EXPECT_TRUE(Delete("greedy", greedy[0]).ok());
  const std::string used = Ask("greedy", 150)->id;
  EXPECT_EQ(Left(modest), 1);
  EXPECT_EQ(Left(greedy), 2);
  const std::vector<std::string> more = Fill("greedy", 150);
  EXPECT_EQ(Left(modest), 1) << "there is room for the greedy one's share without it";
  EXPECT_EQ(Left({used}), 1) << "it is not unused";
  EXPECT_EQ(Left(greedy), 0);
}

TEST_F(TensorSharesTest, AShareDoesNotEndWhatOthersUse) {
  const std::vector<std::string> greedy = Fill("greedy", 100);
  now_ += milliseconds(1000);
  const std::vector<std::string> modest = Fill("modest", 100);
  EXPECT_EQ(modest.size(), 8U) << "what nobody uses is left for others";
  EXPECT_EQ(Left(greedy), 8) << "and is there while there is room";
  // Nothing is left of what the modest one may hold.
  EXPECT_EQ(Ask("modest", 100).status().message(),
            "the caller holds its share of resident tensors (--max-resident-tensors): it has 8, "
            "all callers 8 of 16, and asks for 1 more; DeleteTensor frees some");
  EXPECT_EQ(Left(greedy), 8);
  // A third one's need ends what nobody uses, up to its share.
  const std::vector<std::string> third = Fill("third", 100);
  EXPECT_EQ(third.size(), 4U);
  EXPECT_EQ(Left(greedy), 4) << "no more than it takes";
  EXPECT_EQ(Left(modest), 8);
}

TEST_F(TensorSharesTest, AFullServerSaysSo) {
  Fill("", 100);
  EXPECT_TRUE(table_->state().refused == 1 && table_->state().refused_share == 0);
  const absl::Status status = Ask("modest", 100).status();
  EXPECT_EQ(status.message(), "resident memory is full: 16 tensors");
  EXPECT_EQ(table_->state().refused, 2U);
}

TEST_F(TensorSharesTest, AQuotaTakesThePlaceOfTheShare) {
  const CallerQuotas large{.resident_tensors = 12, .resident_bytes = 1200};
  EXPECT_EQ(Fill("greedy", 10, large).size(), 12U);
  EXPECT_EQ(Ask("greedy", 10, large).status().message(),
            "the caller holds its quota of resident tensors (max-resident-tensors in the callers' "
            "file): it has 12 of 12, and asks for 1 more; DeleteTensor frees some");
  const CallerQuotas small{.resident_tensors = 2};
  EXPECT_EQ(Fill("modest", 10, small).size(), 2U);
  EXPECT_EQ(Fill("third", 10).size(), 1U) << "a share of what is left";
  EXPECT_EQ(table_->state().refused_share, 4U);
}

TEST_F(TensorSharesTest, AQuotaOfBytes) {
  const CallerQuotas quotas{.resident_bytes = 1000};
  EXPECT_EQ(Fill("greedy", 300, quotas).size(), 3U) << "two are its share";
  EXPECT_EQ(Ask("greedy", 300, quotas).status().message(),
            "the caller holds its quota of resident bytes (max-resident-bytes in the callers' "
            "file): it has 900 of 1000, and asks for 300 more; DeleteTensor frees some");
  EXPECT_TRUE(Ask("greedy", 100, quotas).ok());
  const absl::Status never = Ask("other", 1001, quotas).status();
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*RefusalOf(never)));
  EXPECT_EQ(never.message(),
            "tensor: 1001 resident bytes are above the caller's quota of 1000 (max-resident-bytes "
            "in the callers' file)");
  // A smaller one later holds for what is made from then on.
  EXPECT_FALSE(Ask("greedy", 1, {.resident_bytes = 10}).ok());
  now_ += milliseconds(1000);
  EXPECT_EQ(Fill("greedy", 5, {.resident_bytes = 10}).size(), 2U) << "unused ones of its own end";
}

class RegionSharesTest : public ::testing::Test {
 protected:
  RegionSharesTest() {
    devices_.push_back(std::make_unique<FakeDevice>("fake:0"));
    limits_.shared_prefix = ShmSegment::kPrefix;
    limits_.regions_max = 16;
    limits_.shared_bytes_max = 1600;
    limits_.cuda_bytes_max = 80;
    table_ = std::make_unique<RegionTable>(devices_, limits_);
  }
  absl::Status Register(const std::string& owner, std::int64_t bytes,
                        const CallerQuotas& quotas = {}) {
    return table_->RegisterShared({owner, absl::StrCat("r", next_++)}, segment_.key(), 0, bytes,
                                  quotas);
  }
  absl::Status RegisterCuda(const std::string& owner, const CallerQuotas& quotas = {}) {
    return table_->RegisterCuda({owner, absl::StrCat("r", next_++)}, "8 bytes.", 0, 8, quotas);
  }
  // How many it gets.
  template <typename Offer>
  int Fill(const Offer& offer) {
    for (int count = 0;; ++count) {
      const absl::Status status = offer();
      if (status.ok()) continue;
      EXPECT_TRUE(MayBeTriedAgain(status)) << status;
      return count;
    }
  }
  int Fill(const std::string& owner, std::int64_t bytes) {
    return Fill([&] { return Register(owner, bytes); });
  }
  void EndAll(const std::string& owner) {
    absl::Notification done;
    table_->UnregisterAll(RegionKind::kSystem, {owner, ""},
                          [&](const absl::Status& /*status*/) { done.Notify(); });
    done.WaitForNotification();
  }

  std::vector<std::unique_ptr<Executor>> devices_;
  RegionLimits limits_;
  std::unique_ptr<RegionTable> table_;
  int next_ = 0;
  const ShmSegment segment_{std::string(1600, 'x')};
};

TEST_F(RegionSharesTest, ACallerHoldsAsManyRegionsAsAreLeft) {
  EXPECT_EQ(Fill("greedy", 8), 8);
  EXPECT_EQ(Register("greedy", 8).message(),
            "the caller holds its share of regions (--max-memory-regions): it has 8, all callers "
            "8 of 16, and asks for 1 more; unregistering frees some");
  EXPECT_EQ(RegisterCuda("greedy").message(),
            "the caller holds its share of regions (--max-memory-regions): it has 8, all callers "
            "8 of 16, and asks for 1 more; unregistering frees some")
      << "of both kinds";
  EXPECT_EQ(Fill("modest", 8), 4);
  EXPECT_EQ(table_->state().refused_share, 4U);
  EXPECT_EQ(table_->state().refused, 0U);
  EndAll("greedy");
  EXPECT_EQ(Fill("modest", 8), 4) << "what is given back is left for others";
}

TEST_F(RegionSharesTest, ACallerHoldsAsManyBytesAsAreLeft) {
  EXPECT_EQ(Fill("greedy", 300), 2);
  EXPECT_EQ(Register("greedy", 300).message(),
            "the caller holds its share of bytes of shared memory (--max-shared-memory-bytes): it "
            "has 600, all callers 600 of 1600, and asks for 300 more; unregistering frees some");
  EXPECT_EQ(Fill([&] { return RegisterCuda("greedy"); }), 5) << "of the other kind's bytes";
  EXPECT_EQ(RegisterCuda("greedy").message(),
            "the caller holds its share of bytes of GPU memory (--max-cuda-memory-bytes): it has "
            "40, all callers 40 of 80, and asks for 8 more; unregistering frees some");
  EXPECT_EQ(Register("modest", 1001).message().substr(0, 20), "no room for a region");
  EXPECT_EQ(table_->state().refused, 1U);
  EXPECT_TRUE(Register("modest", 900).ok()) << "its only one may be larger";
}

TEST_F(RegionSharesTest, EveryoneHoldsAll) {
  EXPECT_EQ(Fill("", 100), 16);
  EXPECT_EQ(table_->state().refused_share, 0U);
}

TEST_F(RegionSharesTest, AQuotaTakesThePlaceOfTheShare) {
  const CallerQuotas large{.regions = 10};
  EXPECT_EQ(Fill([&] { return Register("greedy", 8, large); }), 10);
  for (const absl::Status& status : {Register("greedy", 8, large), RegisterCuda("greedy", large)}) {
    EXPECT_EQ(status.message(),
              "the caller holds its quota of regions (max-regions in the callers' file): it has "
              "10 of 10, and asks for 1 more; unregistering frees some");
  }
  EXPECT_EQ(Fill([&] { return RegisterCuda("modest", {.regions = 1}); }), 1);
}

TEST_F(RegionSharesTest, ARegionThatDoesNotOpenIsNobodys) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(table_->RegisterShared({"greedy", "r"}, "/warpfold-test-none", 0, 8).ok());
  }
  EXPECT_EQ(Fill("greedy", 8), 8);
}

}  // namespace
}  // namespace warpfold
