// Batches of tensors at scattered addresses, in one launch each: the bits of every tensor are those
// of the ordinary path and of the CPU.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/cuda/reduce.h"
#include "server/device/cuda/memory/cuda_resources.h"
#include "server/device/reduce/results.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/kernels/cpu_results.h"
#include "tests/kernels/effort.h"
#include "tests/kernels/op_lists.h"
#include "tests/kernels/tensors.h"

namespace warpfold {
namespace {

using cuda::BatchItem;
using cuda::BatchItemStatus;
using Results = std::vector<std::string>;

constexpr std::size_t kOutBytes = 512;  // of one item: 16 ops, or the largest state
constexpr int kOpStride = 16;

class GpuBatchTest : public GpuFixture {
 protected:
  // Runs `items` as one batch. Their table goes to the device; what they point at is there.
  void Run(const cuda::Job& job, std::vector<BatchItem> items) {
    const cuda::BatchLaunch launch = cuda::PlanBatch(job.dtype, items);
    auto d_items = OnDevice(items.data(), items.size() * sizeof(BatchItem));
    ASSERT_EQ(
        cuda::FoldBatch(job, reinterpret_cast<BatchItem*>(d_items.get()), launch, stream_.get()),
        cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  }

  // What `enqueue` leaves in the results of `plan`.
  Results Collect(const Plan& plan, const std::function<cudaError_t(const Output&)>& enqueue) {
    const ResultLayout layout(plan);
    std::vector<char> block(sizeof(Overflow) + layout.total_bytes(), '\xcd');
    new (block.data()) Overflow;
    auto d_block = OnDevice(block.data(), block.size());
    EXPECT_EQ(enqueue(layout.OutputAt(plan, d_block.get() + sizeof(Overflow),
                                      reinterpret_cast<Overflow*>(d_block.get()))),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(block.data(), d_block.get(), block.size(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return *layout.Extract(block.data() + sizeof(Overflow));
  }

  // A copy that is there when this returns: the stream does not wait for the legacy stream.
  static cuda::UniqueDeviceMemory OnDevice(const void* from, std::size_t bytes) {
    auto memory = *cuda::AllocateDevice(bytes);
    EXPECT_EQ(cudaMemcpy(memory.get(), from, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return memory;
  }

  template <typename T>
  void ExpectTheBitsOfEachAlone(const ReduceSpec& spec, bool leaves_states,
                                std::mt19937_64& random);
};

template <typename T>
Results OnCpu(const cuda::Job& job, const Plan& plan, const std::vector<T>& data) {
  const ResultLayout layout(plan);
  std::vector<char> block(layout.total_bytes());
  Overflow overflow;
  cpu::EngineFor({job.dtype, job.fused_op_set})
      .FoldElements(data.data(), {1, plan.element_count, 1},
                    layout.OutputAt(plan, block.data(), &overflow), cpu::Serial);
  return *layout.Extract(block.data());
}

// Element counts around everything that changes the path: vectors, tiles, warps, blocks, the limit.
template <typename T>
std::vector<std::int64_t> Counts(std::mt19937_64& random) {
  constexpr std::int64_t kTile = kTileElements<T>;
  constexpr std::int64_t kMost = cuda::kBatchBytesMax / static_cast<std::int64_t>(sizeof(T));
  std::vector<std::int64_t> counts = {1,
                                      2,
                                      3,
                                      31,
                                      33,
                                      kTile - 1,
                                      kTile,
                                      kTile + 1,
                                      2 * kTile,
                                      3 * kTile + 7,
                                      8 * kTile,
                                      kMost,
                                      kMost - 1,
                                      8 * kTile + 1,
                                      17 * kTile + 5};
  for (int i = 0; i < 30; ++i) {
    const std::int64_t below = kTile << (random() % 4);
    counts.push_back(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below)));
  }
  std::shuffle(counts.begin(), counts.end(), random);
  return counts;
}

template <typename T>
void GpuBatchTest::ExpectTheBitsOfEachAlone(const ReduceSpec& any_spec, bool leaves_states,
                                            std::mt19937_64& random) {
  ReduceSpec spec = any_spec;
  std::erase_if(spec.ops, [&](Op op) { return !testing::IsOfOnePass(op, spec.dtype); });
  if (spec.ops.empty()) return;
  std::vector<Plan> plans;
  std::vector<std::vector<T>> tensors;
  std::vector<BatchItem> items;
  std::vector<char> data;
  for (const std::int64_t count : Counts<T>(random)) {
    ReduceSpec one = spec;
    one.shape = {count};
    plans.push_back(*MakePlan(one));
    tensors.push_back(testing::RandomElements<T>(static_cast<std::size_t>(count), random));
    if (spec.nan_policy == NanPolicy::kOmit) testing::StrewNan(tensors.back(), random);
    // Scattered: on lines of their own, every other one off it by an element.
    const std::size_t at = (data.size() + 255) / 256 * 256 + items.size() % 2 * sizeof(T);
    data.resize(at + tensors.back().size() * sizeof(T));
    std::memcpy(data.data() + at, tensors.back().data(), data.size() - at);
    BatchItem item;
    item.d_data = reinterpret_cast<const void*>(at);  // until it is known where that begins
    item.correction = spec.correction;
    item.count = static_cast<std::int32_t>(count);
    item.op_stride = kOpStride;
    item.op_count = leaves_states ? 0 : static_cast<std::int32_t>(spec.ops.size());
    std::copy(spec.ops.begin(), spec.ops.end(), item.ops);
    items.push_back(item);
  }
  const std::vector<char> unset(items.size() * (kOutBytes + sizeof(BatchItemStatus)), '\0');
  auto d_data = OnDevice(data.data(), data.size());
  auto d_out = OnDevice(unset.data(), unset.size());
  auto* const d_statuses =
      reinterpret_cast<BatchItemStatus*>(d_out.get() + items.size() * kOutBytes);
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].d_data = d_data.get() + reinterpret_cast<std::uintptr_t>(items[i].d_data);
    items[i].d_out = d_out.get() + i * kOutBytes;
    items[i].d_status = d_statuses + i;
  }
  const cuda::Job job{spec.dtype, plans[0].fused_op_set(), {}};
  Run(job, items);

  std::vector<char> out(unset.size());
  ASSERT_EQ(cudaMemcpy(out.data(), d_out.get(), out.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Results expected = OnCpu(job, plans[i], tensors[i]);
    const Extent extent{1, items[i].count, 1};
    auto d_scratch = *cuda::AllocateDevice(cuda::ElementsScratchBytes(job, extent) + 1);
    ASSERT_EQ(expected, Collect(plans[i], [&](const Output& output) {
                return cuda::FoldElements(job, items[i].d_data, extent, output, d_scratch.get(),
                                          stream_.get());
              }));
    Results batched;
    if (leaves_states) {
      batched = Collect(plans[i], [&](const Output& output) {
        return cuda::FoldStates(job, items[i].d_out, {1, 1, 1}, output, nullptr, stream_.get());
      });
    } else {
      for (std::size_t op = 0; op < expected.size(); ++op) {
        batched.emplace_back(out.data() + i * kOutBytes + op * kOpStride, expected[op].size());
      }
    }
    ASSERT_EQ(batched, expected) << Name(spec.dtype) << ", " << spec.ops.size() << " ops, "
                                 << items[i].count << " elements, number " << i;
    BatchItemStatus item_status;
    std::memcpy(&item_status, out.data() + items.size() * kOutBytes + i * sizeof(item_status),
                sizeof(item_status));
    ASSERT_EQ(item_status.outcome, BatchItemStatus::Outcome::kFits);
  }
}

TEST_F(GpuBatchTest, GivesEachTensorTheBitsThatItHasAlone) {
  std::mt19937_64 random(2026);
  for (const DType dtype : testing::DTypesToTest()) {
    VisitDType(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<Op> all = testing::FirstOps();
      if (!kIsFloat<T>) std::erase(all, Op::kProd);  // random ones do not fit
      ReduceSpec spec{.dtype = dtype, .correction = 1};
      for (const std::vector<Op>& ops :
           {std::vector<Op>{Op::kMean, Op::kSum},
            {Op::kMin},
            {Op::kMax},
            {Op::kAny, Op::kAll},
            {Op::kMax, Op::kSum, Op::kMin},
            {Op::kMaxAbs, Op::kPtp},
            {Op::kArgMin, Op::kArgMax},
            {Op::kVar, Op::kL1Norm, Op::kL2Norm, Op::kMean, Op::kNanCount, Op::kMin},
            all}) {
        spec.ops = ops;
        ExpectTheBitsOfEachAlone<T>(spec, /*leaves_states=*/false, random);
        if (HasFatalFailure()) return;
      }
      ExpectTheBitsOfEachAlone<T>(spec, /*leaves_states=*/true, random);
      if (HasFatalFailure() || !kIsFloat<T>) return;
      spec.nan_policy = NanPolicy::kOmit;
      ExpectTheBitsOfEachAlone<T>(spec, /*leaves_states=*/false, random);
    });
    if (HasFatalFailure()) return;
  }
}

// Three rows of which the middle one does not fit.
TEST_F(GpuBatchTest, OnlyWhatOverflowsIsToldSo) {
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> elements = {1, 2, -big, -big, big, -1};
  auto d_data = OnDevice(elements.data(), elements.size() * 8);
  auto pinned = *cuda::AllocatePinned(4096);
  std::int64_t* const sums = reinterpret_cast<std::int64_t*>(pinned.get());
  auto* const item_statuses = new (pinned.get() + 1024) BatchItemStatus[3];
  std::vector<BatchItem> items(3);
  for (std::size_t i = 0; i < 3; ++i) {
    items[i].d_data = d_data.get() + i * 16;
    items[i].d_out = sums;
    items[i].d_status = item_statuses + i;
    items[i].count = 2;
    items[i].output_index = static_cast<std::int32_t>(i);
    items[i].op_count = 1;
    items[i].ops[0] = Op::kSum;
  }
  Run({DType::kI64, FusedOpSet::kSum, {}}, items);
  EXPECT_EQ(item_statuses[0].outcome, BatchItemStatus::Outcome::kFits);
  EXPECT_EQ(item_statuses[2].outcome, BatchItemStatus::Outcome::kFits);
  EXPECT_EQ(sums[0], 3);
  EXPECT_EQ(sums[2], big - 1);
  ASSERT_EQ(item_statuses[1].outcome, BatchItemStatus::Outcome::kOverflows);
  EXPECT_EQ(item_statuses[1].op, Op::kSum);
  EXPECT_EQ(item_statuses[1].high, -1);  // -2^64 + 2
  EXPECT_EQ(item_statuses[1].low, std::uint64_t{2});
}

}  // namespace
}  // namespace warpfold
