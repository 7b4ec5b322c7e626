// All that a reduction folds on the CPU: its pieces in an order, or, where sums are exact, in any:
// rows that are outputs straight to their results, others joined to the states of their outputs.
#ifndef WARPFOLD_SERVER_DEVICE_CPU_CPU_FOLDS_H_
#define WARPFOLD_SERVER_DEVICE_CPU_CPU_FOLDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "kernels/cpu/exact_reduce.h"
#include "kernels/cpu/reduce.h"
#include "kernels/plan.h"
#include "server/device/folding.h"
#include "server/device/pieces.h"

namespace warpfold {

// The Backend that Folding drives: kernels/cpu with its tasks on oneTBB.
class CpuBackend {
 public:
  explicit CpuBackend(const cpu::Job& job) : job_(job) {}

  std::size_t StateBytes() const { return cpu::StateBytes(job_); }
  std::size_t ElementsScratchBytes(const Extent&) const { return 0; }
  std::size_t StatesScratchBytes(const Extent&) const { return 0; }
  absl::Status FoldElements(const void* data, const Extent& extent, const Output& output,
                            void* scratch);
  absl::Status FoldStates(const void* states, const Extent& extent, const Output& output,
                          void* scratch);
  absl::Status PushStates(const void* states, std::int64_t width, std::int64_t index, void* stack);
  absl::Status DrainStack(const void* stack, std::int64_t width, std::int64_t count,
                          const Output& output);
  absl::Status Copy(void* to, const void* from, std::size_t bytes);

 private:
  cpu::Job job_;
};

class CpuFolds {
 public:
  CpuFolds(const Plan& plan, const PieceCutter& cutter, Numerics numerics);

  std::size_t scratch_bytes() const { return scratch_bytes_; }
  // Of a plan that leaves them.
  std::size_t state_bytes() const { return backend_.StateBytes(); }
  // Where all of it lies.
  void Place(const Plan& plan, std::byte* scratch, const Output& results);

  // The next piece.
  absl::Status Fold(const void* data, const Piece& piece);
  // After the last one.
  absl::Status Finish();

 private:
  cpu::Job job_;
  Geometry geometry_;
  std::int64_t outputs_;
  CpuBackend backend_;
  PieceKind kind_;
  bool leaves_states_;
  // Where sums are exact; else each piece is whole outputs, whose results are written at once.
  bool keeps_states_;
  std::optional<ScratchLayout> layout_;  // of sums in an order
  std::size_t scratch_bytes_ = 0;
  std::optional<Folding<CpuBackend>> folding_;
  Output results_;
  void* states_ = nullptr;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CPU_CPU_FOLDS_H_
