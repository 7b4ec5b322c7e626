// reduce.h's functions for Numerics::kExact, and what order-free states allow beside.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_
#define WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/reduce.h"
#include "kernels/output_rows.h"

namespace warpfold::cpu {

// Rows of a tensor, [outer, inner] of a call's extent: first_row, first_row + 1, ...
struct RowNumbers {
  OutputRows output_rows;
  std::int64_t first_row = 0;
};

// Sets the states of `count` outputs to those of no elements.
void ClearStates(const Job& job, void* states, std::int64_t count);

// FoldElements, but each row joins the state of its output, at `states` from output 0 on. REQUIRES:
// job.numerics is kExact.
void AddElements(const Job& job, const void* data, const Extent& extent, const RowNumbers& rows,
                 void* states, ParallelFor parallel_for);

void FoldElementsExactly(const Job& job, const void* data, const Extent& extent,
                         const Output& output, ParallelFor parallel_for);
void FoldStatesExactly(const Job& job, const void* states, const Extent& extent,
                       const Output& output, ParallelFor parallel_for);
void PushStatesExactly(const Job& job, const void* states, std::int64_t width, std::int64_t index,
                       void* stack);
std::size_t ExactStateBytes(const Job& job);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_
