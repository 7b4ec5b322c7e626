// Extrema of elements, and of their sizes, as what the hardware compares fastest (running.cuh).
// They end as a component's Acc.
#ifndef WARPFOLD_KERNELS_CUDA_RUNNING_EXTREMA_CUH_
#define WARPFOLD_KERNELS_CUDA_RUNNING_EXTREMA_CUH_

#include <cstdint>

#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/packed_floats.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/exact/bounded.h"

namespace warpfold::cuda {

// An extremum of floats of up to 32 bits, as one of them: an instruction an element where an
// ordered key takes five. Without elements it is an infinity, or where NaN is omitted NaN; it
// finalizes to the key, of nothing but NaN as the identity.
template <typename T, bool kIsMin, bool kOmits>
struct RunningFloatExtremum {
  using Value = T;
  __device__ static Value Identity() { return kOmits ? QuietNan<T>() : Infinity<T>(!kIsMin); }
  __device__ static void Add(Value& value, T x, int) { value = Combine(value, x); }
  __device__ static Value Combine(Value a, Value b) { return Extreme<kIsMin, kOmits>(a, b); }
  __device__ static OrderedKey<T> Finalize(Value value) {
    if (!IsNan(value)) return ToKey(value);
    return kIsMin != kOmits ? kLowestKey<T> : kHighestKey<T>;
  }
};

// The largest size of floats of up to 32 bits, as one of them: an instruction an element. Not NaN,
// which their sum shows.
template <typename T>
struct RunningLargestSize {
  using Value = float;
  __device__ static Value Identity() { return 0; }
  __device__ static void Add(Value& value, T x, int) { value = fmaxf(value, fabsf(Widen(x))); }
  __device__ static Value Combine(Value a, Value b) { return fmaxf(a, b); }
  __device__ static std::int32_t Finalize(Value value) { return BitCast<std::int32_t>(value); }
};

// The smallest size of floats of up to 32 bits, as twice that less one: two instructions an element
// where the size itself takes four. Zeros have none.
template <typename T>
struct RunningSmallestSize {
  using Value = std::uint32_t;
  __device__ static Value Identity() { return ~Value{0}; }
  __device__ static void Add(Value& value, T x, int) {
    value = Combine(value, 2 * BitCast<std::uint32_t>(Widen(x)) - 1);
  }
  // Of floats of 8 bits no element is looked at: all are multiples of the least one, of which so
  // few make up the largest that sums of a million F8_E4M3 are known to be exact by that, and of
  // 2,048 F8_E5M2 as far apart as they can be.
  template <typename Stored>
  __device__ static void Add(Value& value, const Packed<Stored>&, int) {
    value = 2 * kLeastSize<Stored> - 1;
  }
  __device__ static Value Combine(Value a, Value b) { return min(a, b); }
  __device__ static std::int32_t Finalize(Value value) {
    return static_cast<std::int32_t>(value >> 1);
  }
};

// Of float64: the same of the upper words, whose last bit is lost. Four instructions where the size
// itself takes six.
template <>
struct RunningSmallestSize<double> {
  using Value = std::uint32_t;
  __device__ static Value Identity() { return ~Value{0}; }
  __device__ static void Add(Value& value, double x, int) {
    // One more where any bit below is set.
    const std::uint64_t upwards = BitCast<std::uint64_t>(x) + 0xffffffffu;
    value = Combine(value, 2 * static_cast<std::uint32_t>(upwards >> 32) - 1);
  }
  __device__ static Value Combine(Value a, Value b) { return min(a, b); }
  __device__ static std::int32_t Finalize(Value value) {
    return value == Identity() ? exact::SmallestSize<double>::kNone
                               : static_cast<std::int32_t>(value >> 1 & ~1u);
  }
};

// An indexed extremum of float64, as a float64: two comparisons and two selections an element,
// where an ordered key takes eleven instructions. Zeros of either sign are equal, as their indices
// need.
template <bool kIsMin, bool kOmits>
struct RunningDoubleExtremum {
  struct Value {
    double best;  // of those that are not NaN
    bool is_met;  // a NaN, or where NaN is omitted a number
  };
  __device__ static Value Identity() { return {Infinity<double>(!kIsMin), false}; }
  __device__ static void Add(Value& value, double x, int) {
    value.best = Better(value.best, x);
    value.is_met |= IsNan(x) != kOmits;
  }
  __device__ static Value Combine(const Value& a, const Value& b) {
    return {Better(a.best, b.best), a.is_met || b.is_met};
  }
  __device__ static OrderedKey<double> Finalize(const Value& value) {
    if (value.is_met == kOmits) return ToKey(value.best);
    return kIsMin != kOmits ? kLowestKey<double> : kHighestKey<double>;
  }

 private:
  __device__ static double Better(double a, double b) {
    if constexpr (kIsMin) return b < a ? b : a;
    return b > a ? b : a;
  }
};

// The same as an element: zeros are told apart by the signs of all elements. It passes over NaN: a
// fold that has one by its sums (tile_passes.cuh).
template <bool kIsMin>
struct RunningNumberExtremum {
  struct Value {
    double best;
    std::uint32_t signs;  // the upper words, joined by or (MIN), and (MAX)
  };
  __device__ static Value Identity() { return {Infinity<double>(!kIsMin), kIsMin ? 0 : ~0u}; }
  __device__ static void Add(Value& value, double x, int) {
    value = Combine(value, {x, static_cast<std::uint32_t>(BitCast<std::uint64_t>(x) >> 32)});
  }
  __device__ static Value Combine(const Value& a, const Value& b) {
    if constexpr (kIsMin) return {b.best < a.best ? b.best : a.best, a.signs | b.signs};
    return {b.best > a.best ? b.best : a.best, a.signs & b.signs};
  }
  __device__ static OrderedKey<double> Finalize(const Value& value) {
    return ToKey(value.best == 0 ? (value.signs >> 31 != 0 ? -0.0 : 0.0) : value.best);
  }
};

// An extremum of bytes, as two of 16 bits. Without elements it is beyond every byte.
template <typename T, bool kIsMin>
struct RunningByteExtremum {
  using Value = HalfWords;
  __device__ static Value Identity() { return kIsMin ? 0x7fff7fffu : 0x80008000u; }
  __device__ static void Add(Value& value, T x, int) {
    value = Combine(value, Permute<0x1010>(static_cast<std::uint32_t>(Widen(x))));
  }
  __device__ static void Add(Value& value, const Packed<T>& x, int) {
    AddExtremum<kIsMin>(value, x);
  }
  __device__ static Value Combine(Value a, Value b) { return ExtremeHalves<kIsMin>(a, b); }
  __device__ static OrderedKey<T> Finalize(Value value) {
    if (value == Identity()) return kIsMin ? kHighestKey<T> : kLowestKey<T>;
    const auto low = static_cast<std::int16_t>(value);
    const auto high = static_cast<std::int16_t>(value >> 16);
    return kIsMin ? min(low, high) : max(low, high);
  }
};

// Of floats of 8 bits: an extremum, as those of pairs of halves, an instruction for two.
template <typename Stored, bool kIsMin, bool kOmits>
struct RunningExtremumPair {
  using Of = RunningFloatExtremum<Half, kIsMin, kOmits>;
  using Value = HalfWords;
  __device__ static Value Identity() { return Permute<0x1010>(Of::Identity().bits); }
  __device__ static void Add(Value& value, Half x, int) {
    value = Combine(value, Permute<0x1010>(x.bits));
  }
  __device__ static void Add(Value& value, const Packed<Stored>& x, int) {
    value = Combine(value, ExtremePair<kIsMin, kOmits>(LiftPair<0>(x), LiftPair<1>(x)));
  }
  __device__ static Value Combine(Value a, Value b) { return ExtremePair<kIsMin, kOmits>(a, b); }
  __device__ static OrderedKey<Half> Finalize(Value value) {
    return Of::Finalize(Extreme<kIsMin, kOmits>(LowHalf(value), HighHalf(value)));
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_RUNNING_EXTREMA_CUH_
