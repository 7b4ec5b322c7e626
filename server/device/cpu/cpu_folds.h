// All that a reduction folds on the CPU, segment by segment, in any order: rows that are outputs
// straight to their results, others joined to the states of their outputs.
#ifndef WARPFOLD_SERVER_DEVICE_CPU_CPU_FOLDS_H_
#define WARPFOLD_SERVER_DEVICE_CPU_CPU_FOLDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cpu/reduce.h"
#include "kernels/plan.h"
#include "server/device/reduce/segments.h"

namespace warpfold {

class CpuFolds {
 public:
  CpuFolds(const Plan& plan, const SegmentCutter& cutter);

  // How large segments should be: `least`, or, of columns, as large as the states of a row's
  // outputs, as those join them once a segment; but with the states no more than `memory_bytes`.
  static std::size_t SegmentBytes(const Plan& plan, std::size_t least, std::size_t memory_bytes);

  std::size_t scratch_bytes() const;
  // Of a plan that leaves them.
  std::size_t state_bytes() const { return cpu::EngineFor(job_).StateBytes(); }
  // Where all of it lies: scratch_bytes() of scratch memory, and the results, or states.
  void Place(std::byte* scratch, const Output& results);

  // One of the segments. RESOURCE_EXHAUSTED, here and below: no memory for the work.
  absl::Status Fold(const void* data, const Segment& segment);
  // After the last one.
  absl::Status Finish();

 private:
  cpu::Job job_;
  Geometry geometry_;
  std::int64_t outputs_;
  bool leaves_states_;
  bool keeps_states_;  // else each segment is whole outputs, whose results are written at once
  Output results_;
  void* states_ = nullptr;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CPU_CPU_FOLDS_H_
