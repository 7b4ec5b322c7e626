// Functions of kernels/cuda/instructions.cuh, run by a GPU.
#ifndef WARPFOLD_TESTS_GPU_INSTRUCTIONS_ON_GPU_H_
#define WARPFOLD_TESTS_GPU_INSTRUCTIONS_ON_GPU_H_

#include <cstdint>
#include <vector>

#include "kernels/dtypes/element.h"

namespace warpfold::cuda {

// LiftE4M3Pair of each: of the first GPU, whose code throws std::runtime_error where it fails.
std::vector<std::uint32_t> LiftE4M3Pairs(const std::vector<std::uint32_t>& pairs);

// Lift of each.
std::vector<std::uint16_t> LiftAll(const std::vector<F8E4M3>& elements);

// ExtremePair, and Extreme, of neighbours: of a[i] and b[i].
struct Which {
  bool is_min;
  bool omits_nan;
};
std::vector<std::uint32_t> ExtremePairs(Which which, const std::vector<std::uint32_t>& a,
                                        const std::vector<std::uint32_t>& b);
template <typename T>
std::vector<T> Extremes(Which which, const std::vector<T>& a, const std::vector<T>& b);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_TESTS_GPU_INSTRUCTIONS_ON_GPU_H_
