// Exact sums of any elements, by each lane of a warp in words of its own: every element is added as
// the integer that it is, so that its instructions do not depend on how far it lies from others.
//
// The words lie in shared memory, [word][lane], where lanes that go to different words use
// different banks.
#ifndef WARPFOLD_KERNELS_CUDA_LANE_BINS_CUH_
#define WARPFOLD_KERNELS_CUDA_LANE_BINS_CUH_

#include <cstdint>

#include "kernels/cuda/warp.cuh"
#include "kernels/exact/state.h"
#include "kernels/exact/sums.h"

namespace warpfold::cuda {

// A lane's digits of 32 bits in words of 64, kWords of them. Holds 2^31 elements.
template <class Layout>
class LaneBins {
 public:
  static constexpr int kWords = Layout::kWords;
  static constexpr int kWarpBytes = kWords * kLanes * static_cast<int>(sizeof(std::int64_t));

  // The warp's words are at `words`.
  __device__ LaneBins(std::int64_t* words, int lane) : words_(words + lane) {}

  __device__ __forceinline__ void Clear() const {
#pragma unroll 1
    for (int w = 0; w < kWords; ++w) words_[w * kLanes] = 0;
  }
  __device__ __forceinline__ void Add(const exact::ElementParts& element) const {
    exact::AddAt<kLanes>(words_, element.mantissa, element.bit);
  }
  __device__ __forceinline__ void AddSquare(const exact::ElementParts& element) const {
    exact::AddSquareAt<kLanes>(words_, element);
  }
  __device__ __forceinline__ std::int64_t Take(int w) const {
    const std::int64_t word = words_[w * kLanes];
    words_[w * kLanes] = 0;
    return word;
  }

 private:
  std::int64_t* const words_;
};

// Words that come from the lowest up, carried to digits of 32 bits with a sign: of a small negative
// number all digits above its own are zeros, as those of a positive one are.
class DigitCarry {
 public:
  __device__ __forceinline__ bool is_zero() const { return carry_ == 0; }
  // |word| < 2^62. The last word keeps what it has.
  __device__ __forceinline__ std::int64_t DigitOf(std::int64_t word, bool is_last) {
    word += carry_;
    carry_ = is_last ? 0 : (word + (std::int64_t{1} << 31)) >> 32;
    return word - carry_ * (std::int64_t{1} << 32);
  }

 private:
  std::int64_t carry_ = 0;
};

__device__ __forceinline__ void AtomicallyAdd(std::int64_t* word, std::int64_t value) {
  // In two's complement it is the same addition.
  atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
}

// Moves what the lanes of a row have to the words of its output, which others add to as well, and
// leaves zeros. Warp-wide. kRowLanes: all lanes have the same row, or each its own. A lane without
// a row has zeros.
template <int kRowLanes, class Layout>
__device__ __forceinline__ void MoveTo(exact::WideSum<Layout>* sum, const LaneBins<Layout>& bins) {
  DigitCarry carry;
  const bool is_writer = kRowLanes == 1 || threadIdx.x % kLanes == 0;
#pragma unroll 1
  for (int w = 0; w < Layout::kWords; ++w) {
    const std::int64_t word = bins.Take(w);
    if (!__any_sync(kFullWarp, word != 0 || !carry.is_zero())) continue;
    const std::int64_t digit = carry.DigitOf(AddOverRow<kRowLanes>(word), w == Layout::kWords - 1);
    if (is_writer && digit != 0) AtomicallyAdd(&sum->words[w], digit);
  }
}

// The same of the positive elements' bins and of the others' sizes, to the sum and the sum of
// absolute values.
template <int kRowLanes, class Layout>
__device__ __forceinline__ void MoveTo(exact::WideSum<Layout>* sum,
                                       exact::WideSum<Layout>* absolute_sum,
                                       const LaneBins<Layout>& positive,
                                       const LaneBins<Layout>& negative) {
  DigitCarry carry;
  DigitCarry absolute_carry;
  const bool is_writer = kRowLanes == 1 || threadIdx.x % kLanes == 0;
#pragma unroll 1
  for (int w = 0; w < Layout::kWords; ++w) {
    const std::int64_t above = positive.Take(w);
    const std::int64_t below = negative.Take(w);
    const bool has_any = above != 0 || below != 0 || !carry.is_zero() || !absolute_carry.is_zero();
    if (!__any_sync(kFullWarp, has_any)) continue;
    const bool is_last = w == Layout::kWords - 1;
    const std::int64_t digit = carry.DigitOf(AddOverRow<kRowLanes>(above - below), is_last);
    const std::int64_t absolute_digit =
        absolute_carry.DigitOf(AddOverRow<kRowLanes>(above + below), is_last);
    if (!is_writer) continue;
    if (digit != 0) AtomicallyAdd(&sum->words[w], digit);
    if (absolute_digit != 0) AtomicallyAdd(&absolute_sum->words[w], absolute_digit);
  }
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_BINS_CUH_
