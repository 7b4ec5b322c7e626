// The CUDA kernels' answers that no rounding is part of are those of all versions.
#include <memory>

#include "tests/emulator/emulated_test.h"
#include "tests/golden/goldens.h"

namespace warpfold {
namespace {

class EmulatedGoldenTest : public EmulatedTest {
 protected:
  // All passes of a plan: elements, then the folds further out.
  testing::GoldenAnswers Reduce(const Plan& plan, const std::vector<char>& elements) {
    const cuda::Engine& engine = cuda::EngineFor<T>(plan.fused_op_set());
    const cuda::DeviceShape device = AnyDevice();
    const emulator::GuardedMemory input(elements.size(), AnyOffset());
    std::memcpy(input.data(), elements.data(), elements.size());
    const GuardedResults results(plan);
    const std::vector<Geometry::Fold>& folds = plan.geometry.folds;
    std::vector<std::unique_ptr<emulator::GuardedMemory>> states;  // of each fold
    const auto next = [&](std::int64_t outputs) {
      if (states.size() == folds.size()) return results.output();
      states.push_back(std::make_unique<emulator::GuardedMemory>(static_cast<std::size_t>(outputs) *
                                                                 engine.StateBytes()));
      Output between;
      between.states = states.back()->data();
      return between;
    };
    const Extent extent = ExtentOf(plan);
    const emulator::GuardedMemory scratch(engine.ElementsScratchBytes(extent, device));
    EXPECT_EQ(engine.FoldElements(input.data(), extent, next(extent.outputs()), scratch.data(),
                                  device, nullptr),
              cudaSuccess);
    for (std::size_t f = 0; f < folds.size(); ++f) {
      const Extent fold{folds[f].outer, folds[f].count, folds[f].inner};
      const emulator::GuardedMemory fold_scratch(engine.StatesScratchBytes(fold));
      EXPECT_EQ(engine.FoldStates(states[f]->data(), fold, next(fold.outputs()),
                                  fold_scratch.data(), device, nullptr),
                cudaSuccess);
    }
    if (results.overflow().output_index == Overflow::kNone) {
      return testing::AnswersOf(plan, results.Arrays());
    }
    return {testing::OverflowAnswer(results.overflow())};
  }
};

TEST_F(EmulatedGoldenTest, AnswersAsEver) {
  testing::ExpectGoldens(DTypeOfElement(),
                         [this](const Plan& plan, const std::vector<char>& elements) {
                           return Reduce(plan, elements);
                         });
}

}  // namespace
}  // namespace warpfold
