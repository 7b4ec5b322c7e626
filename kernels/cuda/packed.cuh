// Elements of one byte, four at a time: what the hardware does with the bytes of a word, or of two
// halves of 16 bits, in one instruction.
#ifndef WARPFOLD_KERNELS_CUDA_PACKED_CUH_
#define WARPFOLD_KERNELS_CUDA_PACKED_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/instructions.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"

namespace warpfold::cuda {

// Four neighbouring elements of a one-byte type; the first is in the lowest byte.
template <typename T>
struct Packed {
  std::uint32_t word;

  __device__ __forceinline__ T Byte(int i) const {
    return BitCast<T>(static_cast<std::uint8_t>(word >> (8 * i)));
  }
};
template <typename T>
inline constexpr bool kIsPackable = kIsByteInteger<T> || kIsLifted<T>;

// What a pass that adds by `Add` goes over: elements, or packed ones where it takes them.
template <typename T, typename Value, class Add>
inline constexpr bool kTakesPacked = [] {
  if constexpr (kIsPackable<T>) {
    return std::is_invocable_v<const Add&, Value&, const Packed<T>&, int>;
  } else {
    return false;
  }
}();
template <typename T, typename Value, class Add>
using ItemOf = std::conditional_t<kTakesPacked<T, Value, Add>, Packed<T>, T>;

// Two numbers of 16 bits.
using HalfWords = std::uint32_t;

// In the low bit of each byte: whether that byte is not zero.
__device__ __forceinline__ std::uint32_t NonzeroBytes(std::uint32_t word) {
  return ((((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) >> 7) & 0x01010101u;
}

// Of 4 rows of kColumns bytes, the words of one row after another, to one word a column, the first
// row in its lowest byte: two instructions a word.
template <int kColumns>
__device__ __forceinline__ void TransposeBytes(std::uint32_t (&words)[kColumns]) {
  constexpr int kRowWords = kColumns / 4;
  std::uint32_t columns[kColumns];
#pragma unroll
  for (int w = 0; w < kRowWords; ++w) {
    const auto row = [&](int r) { return words[r * kRowWords + w]; };
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned of_both = half == 0 ? 0x5140 : 0x7362;
      const std::uint32_t upper = __byte_perm(row(0), row(1), of_both);
      const std::uint32_t lower = __byte_perm(row(2), row(3), of_both);
      columns[w * 4 + half * 2] = __byte_perm(upper, lower, 0x5410);
      columns[w * 4 + half * 2 + 1] = __byte_perm(upper, lower, 0x7632);
    }
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) words[c] = columns[c];
}

// The bytes as numbers: those of Bool are 0 or 1.
template <typename T>
__device__ __forceinline__ std::uint32_t NumberBytes(const Packed<T>& x) {
  return std::is_same_v<T, Bool> ? NonzeroBytes(x.word) : x.word;
}

// sum + a0 * b0 + ... + a3 * b3; signed bytes of int8_t.
template <typename T>
__device__ __forceinline__ std::int32_t AddByteProducts(std::uint32_t a, std::uint32_t b,
                                                        std::int32_t sum) {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
  } else {
    return static_cast<std::int32_t>(__dp4a(a, b, static_cast<unsigned>(sum)));
  }
}

template <typename T>
__device__ __forceinline__ void AddSum(std::int32_t& sum, const Packed<T>& x) {
  sum = AddByteProducts<T>(NumberBytes(x), 0x01010101u, sum);
}
template <typename T>
__device__ __forceinline__ void AddAbsSum(std::int32_t& sum, const Packed<T>& x) {
  const std::uint32_t bytes = NumberBytes(x);
  // Times -1 where negative, +1 elsewhere.
  const std::uint32_t signs = std::is_same_v<T, std::int8_t> ? Permute<0xba98>(bytes) : 0;
  sum = AddByteProducts<T>(bytes, signs | 0x01010101u, sum);
}
template <typename T>
__device__ __forceinline__ void AddSquares(std::int32_t& sum, const Packed<T>& x) {
  const std::uint32_t bytes = NumberBytes(x);
  sum = AddByteProducts<T>(bytes, bytes, sum);
}
template <typename T>
__device__ __forceinline__ void AddNonzeroCount(std::int32_t& count, const Packed<T>& x) {
  count = static_cast<std::int32_t>(
      __dp4a(NonzeroBytes(x.word), 0x01010101u, static_cast<unsigned>(count)));
}

// Two halves of 16 bits, each the least (greatest) of what it has seen.
template <bool kIsMin>
__device__ __forceinline__ HalfWords ExtremeHalves(HalfWords a, HalfWords b) {
  return kIsMin ? __vmins2(a, b) : __vmaxs2(a, b);
}
template <bool kIsMin, typename T>
__device__ __forceinline__ void AddExtremum(HalfWords& best, const Packed<T>& x) {
  const std::uint32_t bytes = NumberBytes(x);
  constexpr bool kIsSigned = std::is_same_v<T, std::int8_t>;
  constexpr std::uint32_t kLower = kIsSigned ? 0x9180 : 0x4140;
  constexpr std::uint32_t kUpper = kIsSigned ? 0xb3a2 : 0x4342;
  best = ExtremeHalves<kIsMin>(best, Permute<kLower>(bytes));
  best = ExtremeHalves<kIsMin>(best, Permute<kUpper>(bytes));
}

// The first byte that equals a sought one: of the words so far that have any, the first. Which of
// its bytes it is, is found once at the end: the instructions for that run at a quarter of the
// others' rate, and with a branch.
struct FirstEqualByte {
  std::int32_t number;   // of the word's first element; the largest there is while none is found
  std::uint32_t equals;  // the high bit of each byte that equals; 0: it is the first

  __device__ static FirstEqualByte Identity() { return {kHighestKey<std::int32_t>, 0}; }
  template <typename T>
  __device__ void Add(const Packed<T>& x, T sought, int number_of_x) {
    const std::uint32_t byte = static_cast<std::uint8_t>(Widen(sought));
    const std::uint32_t differs = NumberBytes(x) ^ (byte * 0x01010101u);
    const std::uint32_t equals_of_x =
        ~(((differs & 0x7f7f7f7fu) + 0x7f7f7f7fu) | differs) & 0x80808080u;
    if (equals_of_x != 0 && number_of_x < number) *this = {number_of_x, equals_of_x};
  }
  // Where elements come one by one only, the compiler knows that `equals` stays 0.
  template <typename T>
  __device__ void Add(T x, T sought, int number_of_x) {
    if (Widen(x) == Widen(sought) && number_of_x < number) *this = {number_of_x, 0};
  }
  __device__ static FirstEqualByte Combine(const FirstEqualByte& a, const FirstEqualByte& b) {
    return b.number < a.number ? b : a;
  }
  __device__ std::int32_t Number() const {
    return equals == 0 ? number : number + (__ffs(static_cast<int>(equals)) - 1) / 8;
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_PACKED_CUH_
