// The table of resident tensors with a clock and devices of the test's own.
#ifndef WARPFOLD_TESTS_SERVER_TENSOR_TABLE_FIXTURE_H_
#define WARPFOLD_TESTS_SERVER_TENSOR_TABLE_FIXTURE_H_

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/tensors/tensor_table.h"
#include "tests/server/fake_device.h"

namespace warpfold {

using absl::StatusCode;
using std::chrono::milliseconds;

inline TensorShape Bytes(std::int64_t count) { return {DType::kU8, {count}, count}; }

class TensorTableTest : public ::testing::Test {
 protected:
  static constexpr ResidentLimits kLimits = {.bytes_max = 100,
                                             .tensor_bytes_max = 80,
                                             .tensors_max = 3,
                                             .ttl = milliseconds(1000),
                                             .ttl_max = milliseconds(5000)};

  TensorTableTest() {
    auto device = std::make_unique<FakeDevice>("fake:0");
    device_ = device.get();
    executors_.push_back(std::move(device));
    Remake();
  }
  // Nothing is held, and what was counted has been given back.
  ~TensorTableTest() override {
    now_ += milliseconds(1'000'000);
    table_->Sweep();
    const TensorTableState state = table_->state();
    EXPECT_EQ(state.incomplete.count + state.complete.count + state.ending.count, 0);
    EXPECT_EQ(state.incomplete.bytes + state.complete.bytes + state.ending.bytes, 0);
    EXPECT_EQ(state.reductions, 0);
    EXPECT_EQ(state.writes, 0);
    for (const auto& executor : executors_) {
      EXPECT_EQ(static_cast<FakeDevice&>(*executor).tensor_bytes(), 0);
    }
    // All of the room is there again.
    table_->SetLimits(kLimits);
    EXPECT_TRUE(table_->Create({}, Bytes(80), milliseconds(0)).ok());
  }

  void Remake() {
    table_.emplace(executors_, kLimits, [this] { return now_; });
  }

  std::string Create(std::int64_t bytes, milliseconds ttl = milliseconds(0)) {
    const absl::StatusOr<TensorTable::Created> created = table_->Create({}, Bytes(bytes), ttl);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->id : "";
  }
  absl::StatusOr<std::int64_t> Write(const std::string& id, std::int64_t offset,
                                     std::int64_t size) {
    absl::StatusOr<TensorWriteLease> lease = table_->Write(Everyone(), id, offset, size);
    if (!lease.ok()) return lease.status();
    for (const Shard& shard : lease->shards()) {
      std::memset(shard.data, 7, static_cast<std::size_t>(shard.size_bytes));
    }
    return lease->Commit();
  }
  std::string CreateWhole(std::int64_t bytes, milliseconds ttl = milliseconds(0)) {
    std::string id = Create(bytes, ttl);
    EXPECT_EQ(*Write(id, 0, bytes), 0);
    return id;
  }
  bool Exists(const std::string& id) {
    return table_->Read(Everyone(), id, false).status().code() != StatusCode::kNotFound;
  }

  std::chrono::steady_clock::time_point now_{};
  FakeDevice* device_ = nullptr;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::optional<TensorTable> table_;
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_TENSOR_TABLE_FIXTURE_H_
