// The exact sum of f32, bf16 or f16 elements however far apart: digits of a lane's own, to which
// each element is added as the integer that it is.
//
// Those of f32 and bf16 lie in shared memory, [word][thread], so that each thread has banks of its
// own: whatever the data, an element is as many instructions. Nobody touches them before the first
// element that is added.
//
// Local memory, which would take no room until then, was tried: lanes that go to different words
// there share no line, and took 10 to 30 times as long (H100, 2026-11-26).
#ifndef WARPFOLD_KERNELS_CUDA_LANE_DIGITS_CUH_
#define WARPFOLD_KERNELS_CUDA_LANE_DIGITS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/dtypes/element.h"
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

  // An element. `zero` is no longer 0 once one is a NaN or an infinity, which leaves anything in
  // the words.
  __device__ __forceinline__ void Add(T x, float& zero) {
    Begin();
    AddTo(words_, x, zero);
  }

  // Of all lanes of the warp: lane w has the sum of their words numbered w. Begins anew.
  static constexpr int kUnit = exact::kLowestExponent<T> - 1 - exact::DigitLayout<T, 1>::kUnit;
  using Sums = SpacedDigits<kSpacingLog2, kUnit>;
  __device__ __forceinline__ Sums Take() {
    Begin();
    is_used_ = false;
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
    return {sum, lane};
  }
  __device__ __forceinline__ bool is_any_used() const { return __any_sync(kFullWarp, is_used_); }

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
    float zero = 0;
#pragma unroll
    for (const T x : elements) AddTo(words, x, zero);
    return zero == 0;
  }
  __device__ static __forceinline__ void AddTo(Word* words, T x, float& zero) {
    const float value = Widen(x);
    zero = __fmaf_rn(value, 0, zero);
    const auto bits = BitCast<std::uint32_t>(value);
    constexpr int kFieldBit = 23;
    constexpr std::uint32_t kFieldOfWord = (0xffu & ~(kSpacing - 1u)) << kFieldBit;
    const std::uint32_t field_of_word = bits & kFieldOfWord;
    words[(field_of_word >> (kFieldBit + kSpacingLog2)) * kThreads] +=
        IntegerOf(bits, field_of_word);
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

// A finite x in units of the smallest subnormal number.
__device__ __forceinline__ std::int64_t UnitsOf(Half x) {
  constexpr int kStored = exact::FloatFormat<Half>::kPrecision - 1;
  constexpr std::uint32_t kHidden = 1u << kStored;
  const std::uint32_t field = x.bits >> kStored & 0x1f;
  const std::int64_t mantissa = (x.bits & (kHidden - 1)) | (field != 0 ? kHidden : 0);
  const std::int64_t units = mantissa << (field != 0 ? field - 1 : 0);
  return x.bits >> 15 != 0 ? -units : units;
}

// f16: all that there is fits an integer, and takes no shared memory.
template <int kThreads>
class LaneDigits<Half, kThreads> {
 public:
  static constexpr int kBlockBytes = 0;
  static constexpr int kElementsMax = 1 << 17;  // of at most 2^40, and a warp's in 63 bits

  __device__ LaneDigits(void*, int) {}

  __device__ __forceinline__ void Add(Half x, float& zero) {
    const float value = Widen(x);
    zero = __fmaf_rn(value, 0, zero);
    if constexpr (kIsFloat64Fast) {
      total_ += __double2ll_rn(static_cast<double>(value) * 0x1p24);
    } else {
      total_ += UnitsOf(x);
    }
  }

  using Sums = SpacedDigits<5, 0>;
  __device__ __forceinline__ Sums Take() {
    const std::int64_t sum = AddOverRow<kLanes>(total_);
    total_ = 0;
    const auto lane = static_cast<int>(threadIdx.x % kLanes);
    return {lane == 0 ? sum : 0, lane};
  }

 private:
  std::int64_t total_ = 0;
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_LANE_DIGITS_CUH_
