// The same of states: their second passes, joining them, and batches of small tensors.
#include <memory>

#include "kernels/cuda/batch.h"
#include "tests/emulator/emulated_test.h"

namespace warpfold {
namespace {

class EmulatedStatesTest : public EmulatedTest {
 protected:
  // States of single elements, as the engine makes them.
  void PutStates(const cuda::Engine& engine, const std::vector<T>& data, char* states) {
    const emulator::GuardedMemory input(data.size() * sizeof(T));
    std::memcpy(input.data(), data.data(), data.size() * sizeof(T));
    Output output;
    output.states = states;
    const Extent extent{static_cast<std::int64_t>(data.size()), 1, 1};
    const cuda::DeviceShape device = AnyDevice();
    const emulator::GuardedMemory scratch(engine.ElementsScratchBytes(extent, device));
    ASSERT_EQ(engine.FoldElements(input.data(), extent, output, scratch.data(), device, nullptr),
              cudaSuccess);
  }
};

TEST_F(EmulatedStatesTest, SecondPassesHaveTheCpusBits) {
  for (int i = 0; i < 60; ++i) {
    const std::int64_t inner = OneIn(3) ? 1 : Length(300);
    const std::int64_t outer = OneIn(2) ? 1 : Length(20);
    const std::int64_t count = Length(20'000 / (outer * inner) + 1);
    const Plan plan = *MakePlan(AnySpec(outer, count, inner));
    const Extent extent{outer, count, inner};
    const cuda::Engine& engine = cuda::EngineFor<T>(plan.fused_op_set());
    const std::vector<T> data = AnyData(plan);
    const emulator::GuardedMemory states(data.size() * engine.StateBytes());
    PutStates(engine, data, states.data());
    const emulator::GuardedMemory scratch(engine.StatesScratchBytes(extent));
    const GuardedResults actual(plan);
    ASSERT_EQ(engine.FoldStates(states.data(), extent, actual.output(), scratch.data(), AnyDevice(),
                                nullptr),
              cudaSuccess);
    ASSERT_TRUE(actual.Arrays() == testing::ResultsOnCpu(plan, data.data()))
        << plan.ops.size() << " ops of [" << outer << ", " << count << ", " << inner << "] states";
  }
}

TEST_F(EmulatedStatesTest, StatesThatAreJoinedHaveTheCpusBits) {
  for (int i = 0; i < 20; ++i) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random_() % 70);
    const std::int64_t width = Length(600);
    const Plan plan = *MakePlan(AnySpec(1, rows, width));
    const cuda::Engine& engine = cuda::EngineFor<T>(plan.fused_op_set());
    const std::size_t row_bytes = static_cast<std::size_t>(width) * engine.StateBytes();
    const std::vector<T> data = AnyData(plan);
    const emulator::GuardedMemory states(static_cast<std::size_t>(rows) * row_bytes);
    PutStates(engine, data, states.data());
    for (std::int64_t row = 1; row < rows; ++row) {
      const char* const of_row = states.data() + static_cast<std::size_t>(row) * row_bytes;
      ASSERT_EQ(engine.JoinStates(of_row, width, states.data(), nullptr), cudaSuccess);
    }
    const GuardedResults actual(plan);
    ASSERT_EQ(engine.FoldStates(states.data(), {1, 1, width}, actual.output(), nullptr, AnyDevice(),
                                nullptr),
              cudaSuccess);
    ASSERT_TRUE(actual.Arrays() == testing::ResultsOnCpu(plan, data.data()))
        << plan.ops.size() << " ops of " << rows << " rows of " << width << " states";
  }
}

// Each tensor of a batch comes to what it comes to alone, wherever it lies in the table.
TEST_F(EmulatedStatesTest, BatchesHaveTheCpusBits) {
  constexpr std::int64_t kCountMax = cuda::kBatchBytesMax / static_cast<std::int64_t>(sizeof(T));
  constexpr std::size_t kOutBytes = 16 * kRequestOpsMax;
  for (int i = 0; i < 15; ++i) {
    const Plan any = *MakePlan(AnySpec(1, 1, 1));
    std::vector<Plan> plans;
    std::vector<std::unique_ptr<emulator::GuardedMemory>> inputs, outputs;
    std::vector<cuda::BatchItemStatus> item_statuses(1 + random_() % 30);
    std::vector<cuda::BatchItem> items(item_statuses.size());
    for (std::size_t n = 0; n < items.size(); ++n) {
      const std::int64_t count = Length(OneIn(8) ? kCountMax : 20'000);
      plans.push_back(*MakePlan(SpecOf(1, count, 1, any.ops, any.nan_policy)));
      const std::vector<T> data = AnyData(plans.back());
      inputs.push_back(
          std::make_unique<emulator::GuardedMemory>(data.size() * sizeof(T), AnyOffset()));
      outputs.push_back(std::make_unique<emulator::GuardedMemory>(kOutBytes));
      std::memcpy(inputs.back()->data(), data.data(), data.size() * sizeof(T));
      items[n].d_data = inputs.back()->data();
      items[n].d_out = outputs.back()->data();
      items[n].d_status = &item_statuses[n];
      items[n].correction = plans.back().correction;
      items[n].count = static_cast<std::int32_t>(count);
      items[n].op_count = static_cast<std::int32_t>(any.ops.size());
      std::copy(any.ops.begin(), any.ops.end(), items[n].ops);
    }
    const cuda::BatchLaunch launch = cuda::PlanBatch(any.dtype, items);
    ASSERT_EQ(cuda::EngineFor<T>(any.fused_op_set()).FoldBatch(items.data(), launch, nullptr),
              cudaSuccess);
    for (std::size_t n = 0; n < plans.size(); ++n) {
      ASSERT_NE(item_statuses[n].outcome, cuda::BatchItemStatus::Outcome::kPending);
      if (item_statuses[n].outcome == cuda::BatchItemStatus::Outcome::kOverflows) continue;
      const std::vector<std::string> expected = testing::ResultsOnCpu(plans[n], inputs[n]->data());
      for (std::size_t op = 0; op < expected.size(); ++op) {
        ASSERT_EQ(std::string(outputs[n]->data() + 16 * op, expected[op].size()), expected[op])
            << Name(any.ops[op]) << " of " << plans[n].element_count << ", " << any.ops.size()
            << " ops, tensor " << n << " of " << plans.size();
      }
    }
  }
}

}  // namespace
}  // namespace warpfold
