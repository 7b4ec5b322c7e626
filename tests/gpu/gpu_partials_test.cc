// What several GPUs keep of the shards of one tensor, joined on one of them (Worker::JoinPartials):
// the results of the whole, or none. One GPU stands in for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/part.h"
#include "server/device/backend/backend.h"
#include "tests/device/exact_cases.h"
#include "tests/device/part_cases.h"
#include "tests/gpu/overlaps_passes.h"
#include "tests/kernels/effort.h"

namespace warpfold {
namespace {

class GpuPartials : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Devices> devices =
        OpenDevices(Backend::kCuda, {.staging_buffer_bytes = 64 << 10,
                                     .staging_buffers_per_worker = 3,
                                     .scratch_bytes = 256 << 20,
                                     .overlaps_passes = TestsOverlapPasses()});
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    worker_ = *executor().MakeWorker();
  }
  Executor& executor() { return *devices_.executors[0]; }

  // Of the whole at `data`, cut along its first dimension into so many shards.
  absl::StatusOr<std::optional<Outcome>> ReduceInShards(const Plan& whole, const char* data,
                                                        std::int64_t shards) {
    const std::int64_t length = whole.shape.front();
    const std::int64_t row_bytes = whole.input_bytes / length;
    std::vector<std::vector<std::string>> partials;
    for (std::int64_t i = 0; i < shards; ++i) {
      const std::int64_t begin = length * i / shards;
      Plan plan =
          testing::StatesPlan(whole, testing::RangeOf(whole, 0, begin, length * (i + 1) / shards));
      plan.leaves_partials = true;
      const auto* const bytes = reinterpret_cast<const std::byte*>(data + begin * row_bytes);
      const auto memory = testing::Upload(
          executor(), *worker_, absl::MakeSpan(bytes, static_cast<std::size_t>(plan.input_bytes)),
          random_);
      absl::StatusOr<Outcome> outcome = worker_->Reduce(plan, memory->data());
      if (!outcome.ok()) return outcome.status();
      partials.push_back(std::move(outcome->results));
    }
    return worker_->JoinPartials(whole, partials);
  }

  Devices devices_;
  std::unique_ptr<Worker> worker_;
  std::mt19937_64 random_{20261128};
};

class GpuPartialsTest : public GpuPartials, public ::testing::WithParamInterface<DType> {
 protected:
  // Of at most `elements`, that can be cut along its first dimension and joined.
  ReduceSpec SplitSpec(std::int64_t elements) {
    while (true) {
      ReduceSpec spec = testing::RandomSpec(GetParam(), elements, random_);
      const Plan plan = *MakePlan(spec);
      const bool is_cut = plan.element_count > 0 && plan.reduced.test(0) && plan.shape[0] >= 2;
      if (is_cut && worker_->JoinsPartials(plan)) return spec;
    }
  }
};

TEST_P(GpuPartialsTest, JoinToTheResultsOfTheWholeOrToNone) {
  int told = 0;
  int undecided = 0;
  // Few are told of f64, whose squares are mostly undecided.
  const int rounds = testing::IsBrief() ? 50 : 200;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const ReduceSpec spec = SplitSpec(round % 4 == 0 ? 60'000 : 300);
    SCOPED_TRACE(testing::ToString(spec));
    const Plan plan = *MakePlan(spec);
    const std::vector<char> data = testing::HardTensor(spec, random_);
    const std::int64_t shards = 2 + static_cast<std::int64_t>(random_() % 7) % (plan.shape[0] - 1);
    absl::StatusOr<std::optional<Outcome>> joined = ReduceInShards(plan, data.data(), shards);
    if (joined.ok() && !joined->has_value()) {
      ++undecided;
      continue;
    }
    const testing::Results expected = testing::Reduce(plan, data.data(), cpu::Serial);
    absl::StatusOr<Outcome> outcome = Outcome{};
    if (joined.ok()) {
      outcome = **std::move(joined);
    } else {
      outcome = joined.status();
    }
    testing::ExpectOutcome(spec, outcome, expected);
    ++told;
  }
  RecordProperty("told", told);
  RecordProperty("undecided", undecided);
  EXPECT_GT(told, testing::IsBrief() ? 2 : 20) << undecided << " were undecided";
}

INSTANTIATE_TEST_SUITE_P(Floats, GpuPartialsTest, ::testing::ValuesIn(testing::kFloatDTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Half a unit above a number: few enough elements that no addition was rounded. With a little more
// in another shard no bound tells which number is nearer.
TEST_F(GpuPartials, AlmostATieIsUndecided) {
  std::vector<float> elements(16, 0.0F);
  elements[0] = 0x1p30F;
  elements[1] = 0x1p6F;
  const Plan plan = *MakePlan({.dtype = DType::kF32,
                               .shape = {std::ssize(elements)},
                               .ops = {Op::kSum, Op::kMax, Op::kArgMin}});
  const auto* const data = reinterpret_cast<const char*>(elements.data());
  const auto tie = ReduceInShards(plan, data, 2);
  ASSERT_TRUE(tie.ok() && tie->has_value()) << tie.status();
  EXPECT_EQ((*tie)->results[0], testing::BytesOf<float>(0x1p30F));
  elements[12] = 0x1p-60F;
  const auto more = ReduceInShards(plan, data, 2);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_FALSE(more->has_value());
  elements[12] = -1.0F;
  const auto less = ReduceInShards(plan, data, 2);
  ASSERT_TRUE(less.ok() && less->has_value()) << less.status();
  EXPECT_EQ((*less)->results[0], testing::BytesOf<float>(0x1p30F));
  EXPECT_EQ((*less)->results[2], testing::BytesOf<std::int64_t>(12));
}

}  // namespace
}  // namespace warpfold
