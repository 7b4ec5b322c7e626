// reduce.h's functions for Numerics::kExact.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_
#define WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/reduce.h"

namespace warpfold::cpu {

void FoldElementsExactly(const Job& job, const void* data, const Extent& extent,
                         const Output& output, ParallelFor parallel_for);
void FoldStatesExactly(const Job& job, const void* states, const Extent& extent,
                       const Output& output, ParallelFor parallel_for);
void PushStatesExactly(const Job& job, const void* states, std::int64_t width, std::int64_t index,
                       void* stack);
void DrainStackExactly(const Job& job, const void* stack, std::int64_t width, const Output& output);
std::size_t ExactStateBytes(const Job& job);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_REDUCE_H_
