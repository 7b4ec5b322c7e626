// A GPU's batch workers: any batch, small enough to be read in place or not, gives each tensor the
// answer that it has alone on the CPU.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/device/backend/backend.h"
#include "tests/device/worker_cases.h"
#include "tests/kernels/exact/adversarial.h"

namespace warpfold {
namespace {

// A tensor of a batch, its bytes, and what it has to give.
struct Member {
  Plan plan;
  std::string bytes;
  absl::StatusOr<Outcome> expected;
};

class GpuBatchWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const WorkerOptions options{.staging_buffer_bytes = 64 << 10,
                                .staging_buffers_per_worker = 2,
                                .scratch_bytes = 1 << 20,
                                .batch = {.tensors = 64, .bytes = 256 << 10}};
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, options);
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    cpu_ = *OpenDevices(Backend::kCpu, options);
  }
  Executor& executor() { return *devices_.executors[0]; }

  Member MemberOf(const Plan& plan, std::string bytes, std::mt19937_64& random) {
    const std::unique_ptr<Worker> worker = *cpu_.executors[0]->MakeWorker();
    absl::StatusOr<Outcome> expected = testing::Feed(*worker, plan, bytes.data(), random);
    return {plan, std::move(bytes), std::move(expected)};
  }
  Member RandomMember(std::mt19937_64& random);
  void ExpectTheAnswersOfTheCpu(BatchWorker& worker, const std::vector<Member>& members,
                                std::mt19937_64& random);

  // What the batch on `worker` comes to, by looking for its end or by waiting for it.
  static std::vector<absl::StatusOr<Outcome>> End(BatchWorker& worker, bool polls) {
    worker.Launch();
    if (polls) {
      while (!worker.Poll()) {
      }
    } else {
      worker.Wait();
    }
    return worker.Collect();
  }

  const std::vector<DType> dtypes_ = testing::DTypesToTest();
  Devices devices_;
  Devices cpu_;
};

// Of any dtype, ops and shape that batches; some of them 64-bit integers whose sums do not fit.
Member GpuBatchWorkerTest::RandomMember(std::mt19937_64& random) {
  while (true) {
    const DType dtype = dtypes_[random() % dtypes_.size()];
    const ReduceSpec spec = testing::RandomCase(dtype, 1 << (random() % 17), random).spec;
    const Plan plan = *MakePlan(spec);
    if (!executor().Batches(plan)) continue;
    std::string bytes(static_cast<std::size_t>(plan.input_bytes), '\0');
    if (random() % 2 == 0) {
      const std::vector<char> hard = testing::HardTensor(spec, random);
      bytes.assign(hard.begin(), hard.end());
      return MemberOf(plan, std::move(bytes), random);
    }
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<T> x =
          testing::RandomElements<T>(static_cast<std::size_t>(plan.element_count), random);
      if (spec.nan_policy == NanPolicy::kOmit) testing::StrewNan(x, random);
      if constexpr (sizeof(T) == 8 && !kIsFloat<T>) {
        if (random() % 4 == 0) std::fill(x.begin(), x.end(), std::numeric_limits<T>::max());
      }
      std::memcpy(bytes.data(), x.data(), bytes.size());
    });
    return MemberOf(plan, std::move(bytes), random);
  }
}

void GpuBatchWorkerTest::ExpectTheAnswersOfTheCpu(BatchWorker& worker,
                                                  const std::vector<Member>& members,
                                                  std::mt19937_64& random) {
  std::vector<const Member*> added;
  for (const Member& member : members) {
    const std::optional<absl::Span<std::byte>> buffer = worker.Add(member.plan);
    if (!buffer.has_value()) {
      ASSERT_FALSE(added.empty()) << "one has to fit alone";
      break;
    }
    ASSERT_EQ(buffer->size(), member.bytes.size());
    std::memcpy(buffer->data(), member.bytes.data(), member.bytes.size());
    if (random() % 8 == 0) {
      worker.DropLast();
    } else {
      added.push_back(&member);
    }
  }
  if (added.empty()) return;
  const std::vector<absl::StatusOr<Outcome>> outcomes = End(worker, random() % 2 == 0);
  ASSERT_EQ(outcomes.size(), added.size());
  for (std::size_t i = 0; i < added.size(); ++i) {
    ASSERT_EQ(outcomes[i].status(), added[i]->expected.status());
    if (!outcomes[i].ok()) continue;
    ASSERT_EQ(outcomes[i]->results, added[i]->expected->results)
        << Name(added[i]->plan.dtype) << ", " << added[i]->plan.element_count << " elements, "
        << added[i]->plan.ops.size() << " ops, number " << i << " of " << added.size();
  }
}

TEST_F(GpuBatchWorkerTest, GivesEveryTensorOfAnyBatchTheCpusAnswer) {
  const std::unique_ptr<BatchWorker> worker = *executor().MakeBatchWorker();
  std::mt19937_64 random(2026);
  for (int batch = 0; batch < testing::Rounds(200); ++batch) {
    std::vector<Member> members;
    const std::size_t count = batch % 2 ? 1 : 1 + random() % 80;
    while (members.size() < count) members.push_back(RandomMember(random));
    ExpectTheAnswersOfTheCpu(*worker, members, random);
    if (HasFatalFailure()) return;
  }
}

TEST_F(GpuBatchWorkerTest, WorkersWorkSideBySide) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const std::unique_ptr<BatchWorker> worker = *executor().MakeBatchWorker();
      std::mt19937_64 random(t);
      std::vector<Member> members;
      while (members.size() < 20) members.push_back(RandomMember(random));
      for (int i = 0; i < testing::Rounds(50); ++i)
        ExpectTheAnswersOfTheCpu(*worker, members, random);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GpuBatchWorkerTest, CountsWhatABatchReduced) {
  const std::unique_ptr<BatchWorker> worker = *executor().MakeBatchWorker();
  std::mt19937_64 random(7);
  const Member first = RandomMember(random);
  const Member second = RandomMember(random);
  const DeviceUse::Counts before = executor().use();
  for (const Member* member : {&first, &second}) {
    std::memcpy(worker->Add(member->plan)->data(), member->bytes.data(), member->bytes.size());
  }
  EXPECT_EQ(End(*worker, /*polls=*/true).size(), 2);
  EXPECT_EQ(executor().use().reduced_bytes - before.reduced_bytes,
            first.plan.input_bytes + second.plan.input_bytes);
  EXPECT_GT(executor().use().kernel_time, before.kernel_time);
}

TEST_F(GpuBatchWorkerTest, LeavesToWorkersWhatATableDoesNotHold) {
  const auto batches = [this](std::vector<std::int64_t> shape, std::vector<std::int64_t> axes) {
    return executor().Batches(*MakePlan({.dtype = DType::kF32,
                                         .shape = std::move(shape),
                                         .ops = {Op::kSum},
                                         .axes = std::move(axes)}));
  };
  EXPECT_TRUE(batches({}, {}));
  EXPECT_TRUE(batches({16384}, {}));
  EXPECT_FALSE(batches({16385}, {}));
  EXPECT_TRUE(batches({64, 3}, {1}));
  EXPECT_FALSE(batches({65, 3}, {1}));
  EXPECT_FALSE(batches({3, 5}, {0}));        // columns
  EXPECT_FALSE(batches({2, 3, 4}, {0, 2}));  // a fold further out
  EXPECT_FALSE(batches({0}, {}));
}

}  // namespace
}  // namespace warpfold
