// The same of states: their second passes, their stack, and batches of small tensors.
#include <memory>

#include "kernels/cuda/batch.h"
#include "tests/emulator/emulated_test.h"

namespace warpfold {
namespace {

class EmulatedStatesTest : public EmulatedTest {
 protected:
  // States of `count` elements, one each, as the CPU makes them.
  void PutStates(const Plan& plan, std::int64_t count, char* states) {
    const std::vector<T> data =
        testing::RandomElements<T>(static_cast<std::size_t>(count), random_);
    Output output;
    output.states = states;
    cpu::FoldElements(JobOf(plan), data.data(), {count, 1, 1}, output, cpu::Serial);
  }
  static cpu::Job JobOf(const Plan& plan) {
    return {plan.dtype, plan.bundle(), Numerics::kOrdered};
  }
  static std::size_t StateBytesOf(const Plan& plan) {
    return StateBytes(plan.dtype, plan.bundle());
  }
};

TEST_F(EmulatedStatesTest, SecondPassesHaveTheCpusBits) {
  for (int i = 0; i < 60; ++i) {
    const std::int64_t inner = OneIn(3) ? 1 : Length(300);
    const std::int64_t outer = OneIn(2) ? 1 : Length(20);
    const std::int64_t count = Length(20'000 / (outer * inner) + 1);
    const Plan plan = *MakePlan(AnySpec(outer, count, inner));
    const emulator::GuardedMemory states(static_cast<std::size_t>(outer * count * inner) *
                                         StateBytesOf(plan));
    PutStates(plan, outer * count * inner, states.data());
    const Extent extent{outer, count, inner};
    const cuda::Engine& engine = cuda::EngineFor<T>(plan.bundle());
    const emulator::GuardedMemory scratch(engine.StatesScratchBytes(extent));
    const GuardedResults actual(plan), expected(plan);
    ASSERT_EQ(engine.FoldStates(states.data(), extent, actual.output(), scratch.data(), AnyDevice(),
                                nullptr),
              cudaSuccess);
    cpu::FoldStates(JobOf(plan), states.data(), extent, expected.output(), cpu::Serial);
    ASSERT_TRUE(actual.Arrays() == expected.Arrays())
        << plan.ops.size() << " ops of [" << outer << ", " << count << ", " << inner << "] states";
  }
}

TEST_F(EmulatedStatesTest, StacksHaveTheCpusBits) {
  for (int i = 0; i < 20; ++i) {
    const std::int64_t pushes = 1 + static_cast<std::int64_t>(random_() % 70);
    const std::int64_t width = Length(600);
    const Plan plan = *MakePlan(AnySpec(1, pushes, width));
    const std::size_t row_bytes = static_cast<std::size_t>(width) * StateBytesOf(plan);
    const emulator::GuardedMemory states(static_cast<std::size_t>(pushes) * row_bytes);
    PutStates(plan, pushes * width, states.data());
    const std::size_t stack_bytes = static_cast<std::size_t>(StackLevels(pushes)) * row_bytes;
    const emulator::GuardedMemory stack(stack_bytes), cpus_stack(stack_bytes);
    const cuda::Engine& engine = cuda::EngineFor<T>(plan.bundle());
    for (std::int64_t push = 0; push < pushes; ++push) {
      const char* const row = states.data() + static_cast<std::size_t>(push) * row_bytes;
      ASSERT_EQ(engine.PushStates(row, width, push, stack.data(), nullptr), cudaSuccess);
      cpu::PushStates(JobOf(plan), row, width, push, cpus_stack.data());
    }
    const GuardedResults actual(plan), expected(plan);
    ASSERT_EQ(engine.DrainStack(stack.data(), width, pushes, actual.output(), nullptr),
              cudaSuccess);
    cpu::DrainStack(JobOf(plan), cpus_stack.data(), width, pushes, expected.output());
    ASSERT_TRUE(actual.Arrays() == expected.Arrays())
        << plan.ops.size() << " ops of " << pushes << " rows of " << width << " states";
  }
}

// Each tensor of a batch comes to what it comes to alone, wherever it lies in the table.
TEST_F(EmulatedStatesTest, BatchesHaveTheCpusBits) {
  constexpr std::int64_t kCountMax = cuda::kBatchBytesMax / static_cast<std::int64_t>(sizeof(T));
  constexpr std::size_t kOutBytes = 16 * kOpCount;
  for (int i = 0; i < 15; ++i) {
    const Plan any = *MakePlan(AnySpec(1, 1, 1));
    std::vector<Plan> plans;
    std::vector<std::unique_ptr<emulator::GuardedMemory>> inputs, outputs;
    std::vector<cuda::BatchVerdict> verdicts(1 + random_() % 30);
    std::vector<cuda::BatchItem> items(verdicts.size());
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
      items[n].d_verdict = &verdicts[n];
      items[n].correction = plans.back().correction;
      items[n].count = static_cast<std::int32_t>(count);
      items[n].op_count = static_cast<std::int32_t>(any.ops.size());
      std::copy(any.ops.begin(), any.ops.end(), items[n].ops);
    }
    const cuda::BatchLaunch launch = cuda::PlanBatch(any.dtype, items);
    ASSERT_EQ(cuda::EngineFor<T>(any.bundle()).FoldBatch(items.data(), launch, nullptr),
              cudaSuccess);
    for (std::size_t n = 0; n < plans.size(); ++n) {
      ASSERT_NE(verdicts[n].outcome, cuda::BatchVerdict::Outcome::kPending);
      if (verdicts[n].outcome == cuda::BatchVerdict::Outcome::kOverflows) continue;
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
