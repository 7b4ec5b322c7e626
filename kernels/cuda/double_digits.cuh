// The exact sum of f64 elements however far apart: digits of a lane's own, to which each element is
// added as the integer that it is.
//
// They lie in shared memory, [word][thread], so that each thread has banks of its own. All that f64
// may be would be 352 bytes a thread; these are digits of some 600 binades, which move to where
// elements are.
#ifndef WARPFOLD_KERNELS_CUDA_DOUBLE_DIGITS_CUH_
#define WARPFOLD_KERNELS_CUDA_DOUBLE_DIGITS_CUH_

#include <cstdint>

#include "kernels/cuda/warp.cuh"
#include "kernels/cuda/warp_digits.cuh"
#include "kernels/dtypes/element.h"

namespace warpfold::cuda {

// Exponent fields here are those of normal numbers: a subnormal one is of field 1.
template <int kThreads>
class DoubleDigits {
 public:
  static constexpr int kSpacing = 48;  // bits from word to word
  static constexpr int kWords = 14;
  static constexpr int kFields = (kWords - 1) * kSpacing;  // as an element takes two words
  static constexpr int kBlockBytes = kWords * kThreads * static_cast<int>(sizeof(std::int64_t));

  // The block's words lie at `words`.
  __device__ DoubleDigits(void* words, int thread)
      : words_(static_cast<std::int64_t*>(words) + thread) {}

  // A lane's vectors of a tile, whose fields lie in [bottom, top] in all lanes. Warp-wide.
  template <int kRows>
  __device__ __forceinline__ void Add(const uint4 (&rows)[kRows], int bottom, int top,
                                      const WarpDigits& warp) {
    if (bottom < first_ || top >= end_) {
      const int first = max(top - kFields + 1, min(bottom, top - kFields + 1 + kAbove));
      Begin(min(max(first, 1), kFirstMax), kFieldEnd, warp);
    }
    while (true) {
#pragma unroll
      for (const uint4& vector : rows) AddTo(words_, first_, end_, vector);
      constexpr int kLaneElements = kRows * static_cast<int>(sizeof(uint4) / sizeof(double));
      elements_ += kLaneElements;
      if (elements_ > kElementsMax - kLaneElements) MoveTo(warp);
      if (bottom >= first_) return;
      Begin(max(first_ - kFields, 1), first_, warp);
    }
  }

  // Adds all lanes' to the warp's, and leaves zeros.
  __device__ __forceinline__ void MoveTo(const WarpDigits& warp) {
    if (elements_ == 0) return;
    elements_ = 0;
#pragma unroll 1
    for (int w = 0; w < kWords; ++w) {
      const std::int64_t word = words_[w * kThreads];
      words_[w * kThreads] = 0;
      // Field 1 has its lowest bit at the layout's.
      if (__any_sync(kFullWarp, word != 0)) warp.Add(word, first_ - 1 + w * kSpacing);
    }
  }

 private:
  // So many elements fit a word, of less than 2^52 and 2^48 each, and WarpDigits::Add.
  static constexpr int kElementsMax = 512;
  // Room above a tile's largest element, as the next one's may be larger.
  static constexpr int kAbove = 64;
  static constexpr int kFieldEnd = 2047;
  static constexpr int kFirstMax = kFieldEnd - kFields;

  // Elements of fields [first, min(first + kFields, end)) from now on.
  __device__ __forceinline__ void Begin(int first, int end, const WarpDigits& warp) {
    if (end_ == 0) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) words_[w * kThreads] = 0;
    }
    MoveTo(warp);
    first_ = first;
    end_ = min(first + kFields, end);
  }
  // Those elements of the vector that are of fields [first, end). Out of line: it is rare, and what
  // it needs would take registers from what is not.
  __device__ static __noinline__ void AddTo(std::int64_t* words, int first, int end, uint4 vector) {
    double elements[2];
    memcpy(elements, &vector, sizeof(uint4));
#pragma unroll
    for (const double x : elements) {
      const auto bits = BitCast<std::uint64_t>(x);
      constexpr int kStoredBits = 52;
      constexpr std::uint64_t kHidden = std::uint64_t{1} << kStoredBits;
      const int stored_field = static_cast<int>(bits >> kStoredBits & 0x7ff);
      const int field = max(stored_field, 1);
      const bool is_taken = field >= first && field < end;
      const std::uint64_t stored = bits & (kHidden - 1);
      const std::uint64_t mantissa = is_taken ? stored | (stored_field != 0 ? kHidden : 0) : 0;
      const int bit = is_taken ? field - first : 0;
      const int w = bit * 43691 >> 21;  // bit / 48
      static_assert(kSpacing == 48 && kFields < 1000);
      const int shift = bit - w * kSpacing;
      constexpr std::uint64_t kDigit = (std::uint64_t{1} << kSpacing) - 1;
      const auto low = static_cast<std::int64_t>(mantissa << shift & kDigit);
      const auto high = static_cast<std::int64_t>(mantissa >> (kSpacing - shift));
      const std::int64_t sign = static_cast<std::int64_t>(bits) >> 63;
      std::int64_t* const word = words + w * kThreads;
      word[0] += (low ^ sign) - sign;
      word[kThreads] += (high ^ sign) - sign;
    }
  }

  std::int64_t* const words_;
  int first_ = 0;
  int end_ = 0;  // no digits yet
  int elements_ = 0;
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_DOUBLE_DIGITS_CUH_
