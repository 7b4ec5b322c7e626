// The fast way to add a row to its sum (output_sums.h): of finite elements alone, one addition an
// element.
#ifndef WARPFOLD_KERNELS_CUDA_FINITE_ROWS_CUH_
#define WARPFOLD_KERNELS_CUDA_FINITE_ROWS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/lane_bins.cuh"
#include "kernels/cuda/lane_digits.cuh"
#include "kernels/cuda/lane_sum_base.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/exact/sums.h"

namespace warpfold::cuda {

// Calls visit(Lift(x)) for every kRowLanes-th of the elements [begin, end) of a row, some of which
// are loaded at a time.
template <int kRowLanes, int kAtATime = 4, typename T, class Visit>
__device__ __forceinline__ void VisitRow(const T* row, std::int64_t stride, std::int64_t begin,
                                         std::int64_t end, const Visit& visit) {
  std::int64_t i = begin;
#pragma unroll 1
  for (; i + (kAtATime - 1) * kRowLanes < end; i += kAtATime * kRowLanes) {
    T elements[kAtATime];
#pragma unroll
    for (int k = 0; k < kAtATime; ++k) elements[k] = row[(i + k * kRowLanes) * stride];
#pragma unroll
    for (int k = 0; k < kAtATime; ++k) visit(Lift(elements[k]));
  }
#pragma unroll 1
  for (; i < end; i += kRowLanes) visit(Lift(row[i * stride]));
}

// Of all but f64 an element is one addition to digits of another kind, as long as all of a warp's
// are finite.
template <typename T>
inline constexpr bool kHasLaneDigits = !std::is_same_v<T, double>;
template <typename T>
constexpr int LaneDigitsBytes() {
  if constexpr (kHasLaneDigits<T>) return LaneDigits<T, kLanes>::kBlockBytes;
  return 0;
}

// Adds the lanes' sums to an output's, to which others add as well.
template <class Layout, class Spaced>
__device__ __forceinline__ void AtomicallyAddSpaced(exact::WideSum<Layout>* sum,
                                                    const Spaced& spaced) {
  if (!spaced.is_any) return;
  const std::int64_t(&digits)[3] = spaced.digits.digits;
  std::int64_t* const words = sum->words + spaced.first;
  AtomicallyAdd(words, digits[0]);
  if (spaced.first + 1 == Layout::kWords - 1) {  // which has all above, and the sign
    AtomicallyAdd(words + 1, digits[2] * (std::int64_t{1} << 32) + digits[1]);
    return;
  }
  AtomicallyAdd(words + 1, digits[1]);
  if (digits[2] != 0) AtomicallyAdd(words + 2, digits[2]);
}

// Adds a row's chunk to its sum. False, and nothing is added, unless all of it is finite.
// Warp-wide.
template <typename T>
__device__ __forceinline__ bool AddFiniteRow(const T* row, std::int64_t stride, std::int64_t begin,
                                             std::int64_t end, std::int64_t* words,
                                             exact::OutputSums<Lifted<T>, exact::Sums::kSum>* to) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  LaneDigits<Lifted<T>, kLanes> digits(words, lane);
  float zero = 0;
  bool is_other_than_negative_zero = false;
  constexpr int kAtATime = 8;
  VisitRow<kLanes, kAtATime>(row, stride, begin, end, [&](auto x) {
    digits.Add(x, zero);
    is_other_than_negative_zero |= !IsNegativeZero(x);
  });
  if (!__all_sync(kFullWarp, zero == 0)) return false;
  AtomicallyAddSpaced(&to->sums.sum, digits.Take());
  if (__any_sync(kFullWarp, is_other_than_negative_zero) && lane == 0) {
    atomicOr(&to->sums.specials, exact::kHasOtherThanNegativeZero);
  }
  return true;
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_FINITE_ROWS_CUH_
