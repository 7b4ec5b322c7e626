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
template <typename T, int kThreads>
class LaneDigits {
 public:
  static constexpr int kPrecision = exact::FloatFormat<T>::kPrecision;
  using Word = std::conditional_t<kPrecision == 24, std::int64_t, std::int32_t>;
  static constexpr int kSpacingLog2 = kPrecision == 24 ? 4 : 3;
  static constexpr int kSpacing = 1 << kSpacingLog2;
  static constexpr int kWords = 256 / kSpacing;
  static constexpr int kBlockBytes = kWords * kThreads * static_cast<int>(sizeof(Word));
  // So many elements fit a word with its sign, and the sum of a warp's words 64 bits.
  static constexpr int kWordBits = sizeof(Word) == 8 ? 64 - 5 : 32;
  static constexpr int kElementsMax = 1 << (kWordBits - 1 - kPrecision - (kSpacing - 1));

  // The block's words lie at `words`.
  __device__ LaneDigits(void* words, int thread) : words_(static_cast<Word*>(words) + thread) {}

  // A lane's vector of a tile. False if an element of it is a NaN or an infinity, which leaves
  // anything in the words.
  __device__ __forceinline__ bool Add(const uint4& vector) {
    Begin();
    return AddTo(words_, vector);
  }

  // Adds all lanes' to the warp's, and begins anew. Lane w adds up the words numbered w.
  __device__ __forceinline__ void MoveTo(const WarpDigits& warp) {
    if (!__any_sync(kFullWarp, is_used_)) return;
    Begin();
    __syncwarp();
    static_assert(kWords <= kLanes);
    const auto lane = static_cast<int>(threadIdx.x % kLanes);
    std::int64_t sum = 0;
    if (lane < kWords) {
      const Word* const words = words_ - lane + lane * kThreads;
#pragma unroll
      for (int i = 0; i < kLanes; ++i) sum += words[(lane + i) % kLanes];  // each from a bank
    }
    __syncwarp();
    constexpr int kUnit = exact::kLowestExponent<T> - 1 - exact::DigitLayout<T, 1>::kUnit;
    warp.AddSpaced<kSpacingLog2, kUnit>(sum);
    is_used_ = false;
  }

 private:
  __device__ __forceinline__ void Begin() {
    if (is_used_) return;
    is_used_ = true;
#pragma unroll
    for (int w = 0; w < kWords; ++w) words_[w * kThreads] = 0;
  }
  // Out of line: it is rare, and what it needs would take registers from what is not.
  __device__ static __noinline__ bool AddTo(Word* words, uint4 vector) {
    T elements[sizeof(uint4) / sizeof(T)];
    memcpy(elements, &vector, sizeof(uint4));
    float zero = 0;  // as long as all are finite
#pragma unroll
    for (const T x : elements) {
      const float value = Widen(x);
      zero = __fmaf_rn(value, 0, zero);
      const auto bits = BitCast<std::uint32_t>(value);
      constexpr int kFieldBit = 23;
      constexpr std::uint32_t kFieldOfWord = (0xffu & ~(kSpacing - 1u)) << kFieldBit;
      const std::uint32_t field_of_word = bits & kFieldOfWord;
      words[(field_of_word >> (kFieldBit + kSpacingLog2)) * kThreads] +=
          IntegerOf(bits, field_of_word);
    }
    return zero == 0;
  }
  // In units of half of the smallest subnormal number times 2^(field_of_word >> 23).
  __device__ static __forceinline__ Word IntegerOf(std::uint32_t bits,
                                                   std::uint32_t field_of_word) {
    if constexpr (kPrecision == 24) {
      const auto field = static_cast<int>(bits >> 23 & 0xff);
      constexpr std::int32_t kHidden = 1 << 23;
      const auto stored = static_cast<std::int32_t>(bits & (kHidden - 1));
      // A subnormal number is one of field 1 without the hidden bit, and one of field 0 twice that.
      const std::int32_t mantissa = stored + (field != 0 ? kHidden : stored);
      const std::int32_t with_sign = static_cast<std::int32_t>(bits) < 0 ? -mantissa : mantissa;
      return static_cast<Word>(with_sign) * (1 << (field & (kSpacing - 1)));
    } else {
      // Scaled to multiples of 2^-7 below 2^8, which the anchor's bits count: 23 below its own.
      constexpr std::uint32_t kScale = 254u << 23;
      constexpr float kAnchor = 0x1.8p16F;
      const float sum =
          __fmaf_rn(BitCast<float>(bits), BitCast<float>(kScale - field_of_word), kAnchor);
      return static_cast<Word>(BitCast<std::uint32_t>(sum) - BitCast<std::uint32_t>(kAnchor));
    }
  }

  Word* const words_;
  bool is_used_ = false;
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_DIGITS_CUH_
