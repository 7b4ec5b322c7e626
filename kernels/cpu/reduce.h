// The CPU backend of the numeric library: what kernels/cuda/reduce.h does, to the same bits, on
// host memory.
//
// Calls return when the work is done. Parallelism belongs to the caller: every function splits its
// work into tasks and runs them through the `ParallelFor` it is given; the split never shows in the
// bits. Safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_REDUCE_H_
#define WARPFOLD_KERNELS_CPU_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/fold.h"
#include "kernels/output_rows.h"
#include "kernels/types.h"

namespace warpfold::cpu {

struct Job {
  DType dtype = DType::kF32;
  FusedOpSet fused_op_set = FusedOpSet::kSum;
};

// Runs task(0) ... task(count - 1), in any order, on any threads, and returns when all are done.
using Task = absl::FunctionRef<void(std::int64_t)>;
using ParallelFor = absl::FunctionRef<void(std::int64_t count, Task task)>;

// Runs the tasks on the calling thread.
inline void Serial(std::int64_t count, Task task) {
  for (std::int64_t i = 0; i < count; ++i) task(i);
}

// Rows of a tensor, [outer, inner] of a call's extent: first_row, first_row + 1, ...
struct RowNumbers {
  OutputRows output_rows;
  std::int64_t first_row = 0;
};

// What runs a job.
class Engine {
 public:
  // Bytes of one partial state.
  virtual std::size_t StateBytes() const = 0;

  // Elements [outer, count, inner] to one state or result for each [outer, inner]. REQUIRES: no
  // extent is 0; `data` is aligned for its element type.
  virtual void FoldElements(const void* data, const Extent& extent, const Output& output,
                            ParallelFor parallel_for) const = 0;
  // The same from states.
  virtual void FoldStates(const void* states, const Extent& extent, const Output& output,
                          ParallelFor parallel_for) const = 0;

  // Sets `count` states to those of no elements.
  virtual void ClearStates(void* states, std::int64_t count) const = 0;
  // FoldElements, but each row joins the state of its output, at `states` from output 0 on.
  virtual void AddElements(const void* data, const Extent& extent, const RowNumbers& rows,
                           void* states, ParallelFor parallel_for) const = 0;
  // Each of the `count` states `from` joins the one at its place in `states`.
  virtual void AddStates(const void* from, std::int64_t count, void* states) const = 0;

 protected:
  ~Engine() = default;
};

// Lives as long as the program.
const Engine& EngineFor(const Job& job);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_REDUCE_H_
