// reduce.h's functions for Numerics::kExact.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_
#define WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_

#include <cstddef>

#include "kernels/cpu/reduce.h"

namespace warpfold::cpu {

void FoldElementsExactly(const Job& job, const void* data, const Extent& extent,
                         const Output& output, ParallelFor parallel_for);
void FoldStatesExactly(const Job& job, const void* states, const Extent& extent,
                       const Output& output, ParallelFor parallel_for);
std::size_t ExactStateBytes(const Job& job);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_
