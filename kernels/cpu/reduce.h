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
#include "kernels/numerics.h"
#include "kernels/types.h"

namespace warpfold::cpu {

struct Job {
  DType dtype = DType::kF32;
  Bundle bundle = Bundle::kSum;
  Numerics numerics = kServedNumerics;
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

// The same from states, as one binary tree over `count`, or, exactly, in any order.
void FoldStates(const Job& job, const void* states, const Extent& extent, const Output& output,
                ParallelFor parallel_for);

// A binary tree over states that arrive one after another; see kernels/cuda/reduce.h. Exact states
// all join the stack's first level, which needs no draining: DrainStack REQUIRES kOrdered.
void PushStates(const Job& job, const void* states, std::int64_t width, std::int64_t index,
                void* stack);
void DrainStack(const Job& job, const void* stack, std::int64_t width, std::int64_t count,
                const Output& output);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_REDUCE_H_
