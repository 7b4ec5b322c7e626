// The exact sum of f32 or bf16 elements however far apart: digits of a lane's own, to which each
// element is added as the integer that it is.
//
// They lie in shared memory, [word][thread], so that each thread has banks of its own: whatever the
// data, an element is as many instructions. Nobody touches them before the first element that no
// window holds.
//
// Local memory, which would take no room until then, was tried: lanes that go to different words
// there share no line, and took 10 to 30 times as long (H100, 2026-11-26).
#ifndef WARPFOLD_KERNELS_CUDA_LANE_DIGITS_CUH_
#define WARPFOLD_KERNELS_CUDA_LANE_DIGITS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/element.h"
#include "kernels/exact/rounding.h"
#include "kernels/exact/state.h"

namespace warpfold::cuda {

// f32: words 2^16 apart, of 64 bits. bf16: 2^8, of 32. Of an element the upper bits of its exponent
// field say which word, the others how far its mantissa is moved, so that it is one addition.
template <typename T>
class LaneDigits {
 public:
  static constexpr int kPrecision = exact::FloatFormat<T>::kPrecision;
  using Word = std::conditional_t<kPrecision == 24, std::int64_t, std::int32_t>;
  static constexpr int kSpacingLog2 = kPrecision == 24 ? 4 : 3;
  static constexpr int kSpacing = 1 << kSpacingLog2;
  static constexpr int kWords = 256 / kSpacing;
  static constexpr int kThreadBytes = kWords * static_cast<int>(sizeof(Word));
  // So many elements fit a word with its sign.
  static constexpr int kElementsMax = 1 << (8 * sizeof(Word) - 1 - kPrecision - (kSpacing - 1));

  // The block's words lie at `words`; the thread is number `thread` of `threads`.
  __device__ LaneDigits(void* words, int thread, int threads)
      : words_(static_cast<Word*>(words) + thread), threads_(threads) {}

  // A lane's vector of a tile. Out of line: it is rare, and what it needs would take registers from
  // what is not.
  __device__ __forceinline__ void Add(const uint4& vector) {
    Begin();
    AddTo(words_, threads_, vector);
  }

  // Adds all lanes' to the warp's, and begins anew.
  __device__ __forceinline__ void MoveTo(const WarpDigits& warp) {
    if (!__any_sync(kFullWarp, is_used_)) return;
#pragma unroll 1
    for (int w = 0; w < kWords; ++w) {
      const Word word = is_used_ ? words_[w * threads_] : 0;
      // In units of half of the smallest subnormal number: see AddTo.
      constexpr int kUnit = exact::kLowestExponent<T> - 1 - exact::DigitLayout<T, 1>::kUnit;
      if (__any_sync(kFullWarp, word != 0)) warp.Add(word, kUnit + w * kSpacing);
    }
    is_used_ = false;
  }

 private:
  __device__ __forceinline__ void Begin() {
    if (is_used_) return;
    is_used_ = true;
#pragma unroll
    for (int w = 0; w < kWords; ++w) words_[w * threads_] = 0;
  }
  __device__ static __noinline__ void AddTo(Word* words, int threads, uint4 vector) {
    T elements[sizeof(uint4) / sizeof(T)];
    memcpy(elements, &vector, sizeof(uint4));
#pragma unroll
    for (const T x : elements) {
      const auto bits =
          static_cast<std::int32_t>(BitCast<std::uint32_t>(Widen(x)) >> (24 - kPrecision));
      const int field = bits >> (kPrecision - 1) & 0xff;
      constexpr std::int32_t kHidden = 1 << (kPrecision - 1);
      const std::int32_t stored = bits & (kHidden - 1);
      // A subnormal number is one of field 1 without the hidden bit, and one of field 0 twice that.
      const std::int32_t mantissa = stored + (field != 0 ? kHidden : stored);
      const std::int32_t with_sign = Widen(x) < 0 ? -mantissa : mantissa;
      words[(field >> kSpacingLog2) * threads] +=
          static_cast<Word>(with_sign) * (1 << (field & (kSpacing - 1)));
    }
  }

  Word* const words_;
  const int threads_;
  bool is_used_ = false;
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_DIGITS_CUH_
