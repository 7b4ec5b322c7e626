// The CPU backend of the numeric library: the same functions as kernels/cuda/reduce.h, the same
// bits, on host memory.
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

// Bytes of one partial state.
std::size_t StateBytes(const Job& job);

// Runs task(0) ... task(count - 1), in any order, on any threads, and returns when all are done.
using Task = absl::FunctionRef<void(std::int64_t)>;
using ParallelFor = absl::FunctionRef<void(std::int64_t count, Task task)>;

// Runs the tasks on the calling thread.
inline void Serial(std::int64_t count, Task task) {
  for (std::int64_t i = 0; i < count; ++i) task(i);
}

// Elements [outer, count, inner] to one state or result for each [outer, inner]. REQUIRES: no
// extent is 0; `data` is aligned for its element type.
void FoldElements(const Job& job, const void* data, const Extent& extent, const Output& output,
                  ParallelFor parallel_for);

// The same from states.
void FoldStates(const Job& job, const void* states, const Extent& extent, const Output& output,
                ParallelFor parallel_for);

// Rows of a tensor, [outer, inner] of a call's extent: first_row, first_row + 1, ...
struct RowNumbers {
  OutputRows output_rows;
  std::int64_t first_row = 0;
};

// Sets `count` states to those of no elements.
void ClearStates(const Job& job, void* states, std::int64_t count);

// FoldElements, but each row joins the state of its output, at `states` from output 0 on.
void AddElements(const Job& job, const void* data, const Extent& extent, const RowNumbers& rows,
                 void* states, ParallelFor parallel_for);

// Each of the `count` states `from` joins the one at its place in `states`.
void AddStates(const Job& job, const void* from, std::int64_t count, void* states);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_REDUCE_H_
