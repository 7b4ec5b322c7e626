// The element types as C++ types, and what differs between them: how they widen for arithmetic,
// how a float64 or an exact integer becomes one of them. The same text on CPU and GPU.
#ifndef WARPFOLD_KERNELS_DTYPES_ELEMENT_H_
#define WARPFOLD_KERNELS_DTYPES_ELEMENT_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/host_device.h"

namespace warpfold {

// One byte, false when it is 0.
struct Bool {
  std::uint8_t byte;
};
// IEEE 754 binary16.
struct Half {
  static constexpr int kMantissaBits = 10;
  static constexpr int kExponentBits = 5;
  std::uint16_t bits;
};
// The upper half of binary32.
struct BFloat16 {
  static constexpr int kMantissaBits = 7;
  static constexpr int kExponentBits = 8;
  std::uint16_t bits;
};
// Floats of 8 bits are stored alone: they are lifted to another type, which has all of them, and
// computed with as that.
//
// Source: OCP 8-bit Floating Point Specification (OFP8).

// No infinities, and of either sign one NaN, whose bits are all set. The largest number is 448.
struct F8E4M3 {
  using LiftedTo = Half;
  static constexpr int kMantissaBits = 3;
  static constexpr int kExponentBits = 4;
  static constexpr bool kHasInfinities = false;
  std::uint8_t bits;
};
// The upper half of binary16.
struct F8E5M2 {
  using LiftedTo = Half;
  static constexpr int kMantissaBits = 2;
  static constexpr int kExponentBits = 5;
  static constexpr bool kHasInfinities = true;
  std::uint8_t bits;
};

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
// Whether elements are lifted to be computed with.
template <typename T>
inline constexpr bool kIsLifted = requires {
  typename T::LiftedTo;
};
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T> || kIsLifted<T>;
template <typename T>
inline constexpr bool kHasInfinities = kIsFloat<T>;
template <typename T>
requires kIsLifted<T>
inline constexpr bool kHasInfinities<T> = T::kHasInfinities;
template <typename T>
inline constexpr bool kIsUnsigned = std::is_unsigned_v<T>;  // of Bool: no, it sums as signed

// BOOL, I8 and U8: four of them are a word, for whose bytes GPUs have instructions.
template <typename T>
inline constexpr bool kIsByteInteger = !kIsFloat<T> && sizeof(T) == 1;
// Those and I16 and U16, whose squares fit in 32 bits.
template <typename T>
inline constexpr bool kIsNarrowInteger = !kIsFloat<T> && sizeof(T) <= 2;
// I64 and U64, whose sums and squares fit in no integer of the hardware.
template <typename T>
inline constexpr bool kIsWideInteger = !kIsFloat<T> && sizeof(T) == 8;
// F64, whose sums and squares are no float64 numbers.
template <typename T>
inline constexpr bool kIsDouble = std::is_same_v<T, double>;

// The unsigned integer of an element's size.
template <typename T>
using BitsOf = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

namespace internal {
template <typename T>
struct LiftedTo {
  using type = T;
};
template <typename T>
requires kIsLifted<T>
struct LiftedTo<T> {
  using type = typename T::LiftedTo;
};
}  // namespace internal

// What stored elements are computed with.
template <typename T>
using Lifted = typename internal::LiftedTo<T>::type;

template <typename T>
requires(!kIsLifted<T>) WARPFOLD_HD constexpr T Lift(const T& x) { return x; }
WARPFOLD_HD constexpr Half Lift(F8E5M2 x) {
  return Half{static_cast<std::uint16_t>(std::uint32_t{x.bits} << 8)};
}
WARPFOLD_HD Half Lift(F8E4M3 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(x.bits)));
  return Half{static_cast<std::uint16_t>(halves)};
#elif defined(__CUDA_ARCH__)
  // In half's places; the factor 2^8 moves the bias and makes subnormals normal.
  const std::uint32_t magnitude = x.bits & 0x7fu;
  const auto moved = static_cast<std::uint16_t>((x.bits & 0x80u) << 8 | magnitude << 7);
  std::uint16_t half;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(half) : "h"(moved), "h"(std::uint16_t{0x5c00}));
  return Half{magnitude == 0x7f ? std::uint16_t{0x7e00} : half};
#else
  // Exponent and mantissa in float's places, the exponent's bias moved. Subnormal numbers get the
  // hidden one that they do not have, and it is subtracted; none is subnormal among halves.
  constexpr std::uint32_t kMoved = std::uint32_t{127 - 7} << 23;
  constexpr std::uint32_t kMovedSubnormal = kMoved + (1u << 23);
  const std::uint32_t magnitude = x.bits & std::uint32_t{0x7f};
  const std::uint32_t in_place = magnitude << 20;
  const std::uint32_t subnormal =
      BitCast<std::uint32_t>(BitCast<float>(in_place + kMovedSubnormal) - 0x1p-6f);
  const std::uint32_t number = magnitude < 8 ? subnormal : in_place + kMoved;
  const std::uint32_t half = magnitude == 0 ? 0 : (number >> 13) - (std::uint32_t{127 - 15} << 10);
  const std::uint32_t sign = (x.bits & std::uint32_t{0x80}) << 8;
  return Half{static_cast<std::uint16_t>(sign | (magnitude == 0x7f ? 0x7e00 : half))};
#endif
}

// The inverse, of what an element is lifted to. Any NaN becomes the quiet one.
template <typename T>
requires(!kIsLifted<T>) WARPFOLD_HD constexpr T Lower(T x) { return x; }
template <typename T>
requires kIsLifted<T> WARPFOLD_HD constexpr T Lower(Half x) {
  const std::uint32_t sign = (x.bits >> 8) & 0x80;
  const std::uint32_t magnitude = x.bits & 0x7fff;
  if constexpr (std::is_same_v<T, F8E5M2>) {
    return T{static_cast<std::uint8_t>(magnitude > 0x7c00 ? 0x7e : sign | magnitude >> 8)};
  } else {
    static_assert(std::is_same_v<T, F8E4M3>, "each small float has a case of its own");
    if (magnitude >= 0x7c00) return T{0x7f};
    // Normal from 2^-6 on. Below, a multiple of 2^-9: the mantissa with its hidden one, moved.
    constexpr std::uint32_t kNormal = std::uint32_t{15 - 6} << 10;
    if (magnitude >= kNormal) {
      return T{static_cast<std::uint8_t>(sign | ((magnitude >> 7) - (8 << 3)))};
    }
    const std::uint32_t subnormal = ((magnitude & 0x3ff) | 0x400) >> (16 - (magnitude >> 10));
    return T{static_cast<std::uint8_t>(sign | subnormal)};
  }
}

// Every element as a number that the hardware computes with, exactly.
WARPFOLD_HD constexpr float Widen(float x) { return x; }
WARPFOLD_HD constexpr double Widen(double x) { return x; }
WARPFOLD_HD constexpr std::int32_t Widen(Bool x) { return x.byte != 0; }
WARPFOLD_HD constexpr std::int32_t Widen(std::int8_t x) { return x; }
WARPFOLD_HD constexpr std::int32_t Widen(std::uint8_t x) { return x; }
WARPFOLD_HD constexpr std::int32_t Widen(std::int16_t x) { return x; }
WARPFOLD_HD constexpr std::int32_t Widen(std::uint16_t x) { return x; }
WARPFOLD_HD constexpr std::int32_t Widen(std::int32_t x) { return x; }
WARPFOLD_HD constexpr std::uint32_t Widen(std::uint32_t x) { return x; }
WARPFOLD_HD constexpr std::int64_t Widen(std::int64_t x) { return x; }
WARPFOLD_HD constexpr std::uint64_t Widen(std::uint64_t x) { return x; }
WARPFOLD_HD float Widen(BFloat16 x) { return BitCast<float>(std::uint32_t{x.bits} << 16); }
WARPFOLD_HD float Widen(Half x) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
#else
  // Exponent and mantissa in float's places; the factor 2^112 moves the bias and makes subnormals
  // normal.
  const std::uint32_t magnitude_bits = (x.bits & std::uint32_t{0x7fff}) << 13;
  const float finite = BitCast<float>(magnitude_bits) * 0x1p112f;
  const float magnitude =
      magnitude_bits >= 0x0f800000 ? BitCast<float>(magnitude_bits | 0x7f800000) : finite;
  return BitCast<float>(BitCast<std::uint32_t>(magnitude) | (x.bits & std::uint32_t{0x8000}) << 16);
#endif
}

template <typename T>
requires kIsLifted<T> WARPFOLD_HD float Widen(T x) { return Widen(Lift(x)); }

template <typename T>
using Wide = decltype(Widen(T{}));

// The same as a float64: of halves one instruction on a GPU (of bf16 from Hopper on), where by way
// of float it is two.
template <typename T>
WARPFOLD_HD double WidenToDouble(T x) {
#ifdef __CUDA_ARCH__
  double wide;
  if constexpr (std::is_same_v<T, Half>) {
    asm("cvt.f64.f16 %0, %1;" : "=d"(wide) : "h"(x.bits));
    return wide;
  }
#if __CUDA_ARCH__ >= 900
  if constexpr (std::is_same_v<T, BFloat16>) {
    asm("cvt.f64.bf16 %0, %1;" : "=d"(wide) : "h"(x.bits));
    return wide;
  }
#endif
#endif
  return static_cast<double>(Widen(x));
}

template <typename T>
WARPFOLD_HD bool IsNan(T x) {
  if constexpr (kIsFloat<T>) {
    const auto wide = Widen(x);
    return wide != wide;
  } else {
    return false;
  }
}

// Infinity of a hardware type.
template <typename T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <typename T>
WARPFOLD_HD bool IsInf(T x) {
  if constexpr (kIsFloat<T>) {
    const auto wide = Widen(x);
    return wide == kInfinity<Wide<T>> || wide == -kInfinity<Wide<T>>;
  } else {
    return false;
  }
}

// The one NaN of the contract: x86 makes 0xffc00000 where a GPU makes 0x7fffffff.
template <typename T>
WARPFOLD_HD T QuietNan() {
  if constexpr (std::is_same_v<T, double>) {
    return BitCast<double>(std::uint64_t{0x7ff8000000000000});
  } else if constexpr (std::is_same_v<T, float>) {
    return BitCast<float>(std::uint32_t{0x7fc00000});
  } else {
    constexpr int kBits = ((1 << (T::kExponentBits + 1)) - 1) << (T::kMantissaBits - 1);
    constexpr int kAllButSign = (1 << (T::kExponentBits + T::kMantissaBits)) - 1;
    return T{static_cast<BitsOf<T>>(kHasInfinities<T> ? kBits : kAllButSign)};
  }
}

// REQUIRES: T has one.
template <typename T>
WARPFOLD_HD T Infinity(bool negative) {
  if constexpr (std::is_floating_point_v<T>) {
    return negative ? -kInfinity<T> : kInfinity<T>;
  } else {
    constexpr int kBits = ((1 << T::kExponentBits) - 1) << T::kMantissaBits;
    constexpr int kSign = 1 << (T::kExponentBits + T::kMantissaBits);
    return T{static_cast<BitsOf<T>>(kBits | (negative ? kSign : 0))};
  }
}

// Rounds to nearest even, once: by way of float it would be twice. Any NaN becomes the quiet one.
template <typename T>
WARPFOLD_HD T RoundFromDouble(double x) {
  if (x != x) return QuietNan<T>();
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else {
    constexpr int kBias = (1 << (T::kExponentBits - 1)) - 1;
    constexpr std::uint64_t kInfinity = ((std::uint64_t{1} << T::kExponentBits) - 1)
                                        << T::kMantissaBits;
    const std::uint64_t bits = BitCast<std::uint64_t>(x);
    const std::uint64_t sign = (bits >> 63) << 15;
    const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
    if (exponent > kBias) return T{static_cast<std::uint16_t>(sign | kInfinity)};
    // Below the smallest normal number the last place stays where it is.
    const int below = exponent < 1 - kBias ? 1 - kBias - exponent : 0;
    const int shift = 52 - T::kMantissaBits + below;
    if (shift > 54) return T{static_cast<std::uint16_t>(sign)};
    const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    const std::uint64_t rest = mantissa & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    std::uint64_t rounded = mantissa >> shift;
    rounded += rest > half || (rest == half && (rounded & 1) != 0);
    // A carry out of the mantissa goes into the exponent, and from the largest number to infinity.
    const std::uint64_t biased =
        below > 0
            ? rounded
            : rounded + (static_cast<std::uint64_t>(exponent + kBias - 1) << T::kMantissaBits);
    return T{static_cast<std::uint16_t>(sign | biased)};
  }
}

// -0.0, which adds nothing.
template <typename T>
WARPFOLD_HD T NegativeZero() {
  if constexpr (std::is_floating_point_v<T>) {
    return T{-0.0};
  } else {
    return T{static_cast<BitsOf<T>>(1 << (T::kExponentBits + T::kMantissaBits))};
  }
}

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_DTYPES_ELEMENT_H_
