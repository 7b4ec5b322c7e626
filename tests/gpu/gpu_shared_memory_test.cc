// A client's shared memory, read by the GPU where it lies, also when the client takes it away: what
// docs/shared_memory.md claims of pages that are registered.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/core/regions/shared_segment.h"
#include "server/device/backend/backend.h"
#include "tests/shm_segment.h"

namespace warpfold {
namespace {

constexpr std::int64_t kCount = 12 << 20;

class GpuSharedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Devices> devices = OpenDevices(Backend::kCuda, {});
    if (!devices.ok()) GTEST_SKIP() << "no GPU answers: " << devices.status();
    devices_ = *std::move(devices);
    worker_ = *executor().MakeWorker();
  }
  Executor& executor() { return *devices_.executors[0]; }

  static std::string Ones(std::int64_t count) {
    const std::vector<float> ones(static_cast<std::size_t>(count), 1.0F);
    return {reinterpret_cast<const char*>(ones.data()), ones.size() * sizeof(float)};
  }
  // `count` f32 from byte `offset` of the segment on; null, and the test skips, where GPUs do not
  // read in place.
  std::unique_ptr<TensorMemory> Map(const ShmSegment& segment, std::int64_t offset,
                                    std::int64_t count) {
    const absl::StatusOr<SharedSegment> opened =
        SharedSegment::Open(segment.key(), ShmSegment::kPrefix, offset, count * 4);
    EXPECT_TRUE(opened.ok()) << opened.status();
    absl::StatusOr<std::unique_ptr<TensorMemory>> mapped = executor().MapShared(
        opened->descriptor(), offset, static_cast<std::size_t>(count) * sizeof(float));
    EXPECT_TRUE(mapped.ok()) << mapped.status();
    return mapped.ok() ? *std::move(mapped) : nullptr;
  }
  float Sum(const std::byte* data, std::int64_t count) {
    const Plan plan =
        *MakePlan({.dtype = DType::kF32, .shape = {count}, .ops = {Op::kSum}, .axes = {}});
    EXPECT_TRUE(worker_->Begin(plan).ok());
    for (std::int64_t left = plan.input_bytes; left > 0;) {
      const absl::StatusOr<absl::Span<std::byte>> buffer = worker_->Buffer();
      if (!buffer.ok()) {
        ADD_FAILURE() << buffer.status();
        worker_->Abandon();
        return -1;
      }
      EXPECT_TRUE(worker_->CommitInPlace(data).ok());
      data += buffer->size();
      left -= std::ssize(*buffer);
    }
    const absl::StatusOr<Outcome> outcome = worker_->Finish();
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    float sum = -1;
    if (outcome.ok()) std::memcpy(&sum, outcome->results[0].data(), sizeof(sum));
    return sum;
  }

  Devices devices_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(GpuSharedMemoryTest, IsReadInPlaceFromAnyOffset) {
  const ShmSegment segment(Ones(kCount));
  for (const std::int64_t offset : {0, 4, 4096, 4100}) {
    const std::int64_t count = kCount - offset / 4;
    const auto mapped = Map(segment, offset, count);
    if (mapped == nullptr) GTEST_SKIP() << "this GPU does not read in place";
    EXPECT_EQ(Sum(mapped->data(), count), static_cast<float>(count));
    segment.Write(std::string(4, '\0'), offset);
    EXPECT_EQ(Sum(mapped->data(), 1000), 999.0F);
    segment.Write(Ones(1), offset);
  }
}

TEST_F(GpuSharedMemoryTest, PagesThatWereTruncatedStayForTheGpu) {
  const ShmSegment segment(Ones(kCount));
  const auto mapped = Map(segment, 0, kCount);
  if (mapped == nullptr) GTEST_SKIP() << "this GPU does not read in place";
  segment.Truncate(0);
  EXPECT_EQ(Sum(mapped->data(), kCount), static_cast<float>(kCount));
  segment.Truncate(kCount * 4);
  EXPECT_EQ(Sum(mapped->data(), kCount), static_cast<float>(kCount)) << "the pages of before";
}

TEST_F(GpuSharedMemoryTest, TruncatingUnderCopiesHarmsNobody) {
  const std::string ones = Ones(kCount);
  for (int round = 0; round < 5; ++round) {
    const ShmSegment segment(ones);
    const auto mapped = Map(segment, 0, kCount);
    if (mapped == nullptr) GTEST_SKIP() << "this GPU does not read in place";
    std::atomic<bool> ended{false};
    std::jthread truncater([&] {
      while (!ended) {
        segment.Truncate(kCount);
        segment.Truncate(kCount * 4);
      }
    });
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(Sum(mapped->data(), kCount), static_cast<float>(kCount));
    }
    ended = true;
  }
}

TEST_F(GpuSharedMemoryTest, ASegmentThatIsEmptyByNowIsRefused) {
  const ShmSegment segment(Ones(kCount));
  const absl::StatusOr<SharedSegment> opened =
      SharedSegment::Open(segment.key(), ShmSegment::kPrefix, 0, kCount * 4);
  ASSERT_TRUE(opened.ok()) << opened.status();
  segment.Truncate(0);
  const auto mapped = executor().MapShared(opened->descriptor(), 0, kCount * 4);
  if (mapped.ok() && *mapped == nullptr) GTEST_SKIP() << "this GPU does not read in place";
  EXPECT_FALSE(mapped.ok());
  const ShmSegment next(Ones(1000));
  const auto served = Map(next, 0, 1000);
  ASSERT_NE(served, nullptr);
  EXPECT_EQ(Sum(served->data(), 1000), 1000.0F);
}

}  // namespace
}  // namespace warpfold
