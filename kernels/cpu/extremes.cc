#include "kernels/cpu/extremes.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/extremes.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
constexpr Extremes<T> kOfNan = {kLowestKey<T>, kHighestKey<T>};

// A vector's lanes, in memory: Highway does not have the best of them for all types. GCC has to be
// kept from taking each out of its register, for which it put the loop's vectors into memory.
template <class D, typename Lane = hn::TFromD<D>>
struct Stored {
  HWY_ALIGN Lane lanes[hn::MaxLanes(D())];

  template <class V>
  HWY_INLINE Stored(D d, V v) {
    hn::Store(v, d, lanes);
    asm volatile("" : : "r"(lanes) : "memory");
  }
  HWY_INLINE Lane Least() const {
    Lane least = lanes[0];
    for (const Lane lane : lanes) least = lane < least ? lane : least;
    return least;
  }
  HWY_INLINE Lane Greatest() const {
    Lane greatest = lanes[0];
    for (const Lane lane : lanes) greatest = lane > greatest ? lane : greatest;
    return greatest;
  }
};

// Floats by their bits alone. As signed integers the largest is the greatest float if one is
// positive; as unsigned ones the largest is the least float if one is negative, and the smallest is
// the end that neither of these is. Three instructions a vector, where keys that order take five.
template <typename T>
struct FloatEnds {
  using Signed = internal::SameSizeInt<T>;
  using Unsigned = std::make_unsigned_t<Signed>;
  Signed top = std::numeric_limits<Signed>::min();
  Unsigned high = 0;
  Unsigned low = std::numeric_limits<Unsigned>::max();

  HWY_INLINE void Add(Signed bits) {
    const auto magnitude = static_cast<Unsigned>(bits);
    top = bits > top ? bits : top;
    high = magnitude > high ? magnitude : high;
    low = magnitude < low ? magnitude : low;
  }

  HWY_INLINE Extremes<T> Both() const {
    const bool has_nan =
        top > BitCast<Signed>(Infinity<T>(false)) || high > BitCast<Unsigned>(Infinity<T>(true));
    if (has_nan) return kOfNan<T>;
    const auto other = static_cast<Signed>(low);
    const Signed least = static_cast<Signed>(high) < 0 ? static_cast<Signed>(high) : other;
    const Signed greatest = top >= 0 ? top : other;
    return {internal::FlipNegative(least), internal::FlipNegative(greatest)};
  }
};

// The vector at element `first`, or the last one of `count`: to have elements twice changes
// nothing. In a register: GCC read it from memory again for each use, and loads are what these
// loops wait for.
template <class D, typename Lane = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadAt(D d, const Lane* HWY_RESTRICT data, int first, int count) {
  const int width = static_cast<int>(hn::Lanes(d));
  const auto x = hn::LoadU(d, data + (first + width <= count ? first : count - width));
  asm volatile("" : : : "memory");
  return x;
}

template <typename T>
HWY_INLINE Extremes<T> BothOfFloats(const T* HWY_RESTRICT data, int count) {
  FloatEnds<T> ends;
  using Signed = typename FloatEnds<T>::Signed;
  const auto* bits = reinterpret_cast<const Signed*>(data);
  const hn::ScalableTag<Signed> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int width = static_cast<int>(hn::Lanes(d));
  if (count < width) {
    for (int i = 0; i < count; ++i) ends.Add(BitCast<Signed>(data[i]));
    return ends.Both();
  }
  auto top = hn::LoadU(d, bits);
  auto high = hn::BitCast(du, top), low = high;
  for (int first = width; first < count; first += width) {
    const auto x = LoadAt(d, bits, first, count);
    top = hn::Max(top, x);
    high = hn::Max(high, hn::BitCast(du, x));
    low = hn::Min(low, hn::BitCast(du, x));
  }
  ends.top = Stored(d, top).Greatest();
  ends.high = Stored(du, high).Greatest();
  ends.low = Stored(du, low).Least();
  return ends.Both();
}

template <typename T>
HWY_INLINE Extremes<T> BothOfNumbers(const T* HWY_RESTRICT data, int count) {
  using Key = internal::SameSizeInt<T>;
  Key least = std::numeric_limits<Key>::max(), greatest = std::numeric_limits<Key>::min();
  for (int i = 0; i < count; ++i) {
    const Key key = internal::FlipNegative(BitCast<Key>(data[i]));
    const bool is_nan = key < ToKey(Infinity<T>(true)) || key > ToKey(Infinity<T>(false));
    least = !is_nan && key < least ? key : least;
    greatest = !is_nan && key > greatest ? key : greatest;
  }
  return {least, greatest};
}

// As wide as an element, unlike keys.
template <typename T>
HWY_INLINE auto Integer(T x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return x.byte;
  } else {
    return x;
  }
}

template <typename T>
HWY_INLINE Extremes<T> BothOfIntegers(const T* HWY_RESTRICT data, int count) {
  const auto* integers = reinterpret_cast<const decltype(Integer(*data))*>(data);
  auto least = integers[0], greatest = least;
  const hn::ScalableTag<decltype(least)> d;
  const int width = static_cast<int>(hn::Lanes(d));
  if (count < width) {
    for (int i = 1; i < count; ++i) {
      least = integers[i] < least ? integers[i] : least;
      greatest = integers[i] > greatest ? integers[i] : greatest;
    }
  } else {
    auto low = hn::LoadU(d, integers), high = low;
    for (int first = width; first < count; first += width) {
      const auto x = LoadAt(d, integers, first, count);
      low = hn::Min(low, x);
      high = hn::Max(high, x);
    }
    least = Stored(d, low).Least();
    greatest = Stored(d, high).Greatest();
  }
  return {ToKey(BitCast<T>(least)), ToKey(BitCast<T>(greatest))};
}

// The first of `count` integers that `is` holds of, of a vector or of one alone. REQUIRES: there is
// one.
template <typename Lane, class Predicate>
HWY_INLINE int FirstOf(const Lane* HWY_RESTRICT data, int count, const Predicate& is) {
  const hn::ScalableTag<Lane> d;
  const int width = static_cast<int>(hn::Lanes(d));
  if (count < width) {
    const hn::CappedTag<Lane, 1> one;
    int first = 0;
    while (!hn::AllTrue(one, is(one, hn::LoadU(one, data + first)))) ++first;
    return first;
  }
  // One branch for as many vectors as 64 bits have room for: which of them has it nobody foresees.
  // ARGMAX of rows of 64 took 36 ns of f32 instead of 51, 28 of i32 instead of 46 (Sapphire Rapids,
  // 2026-11-22).
  constexpr int kBits = hn::MaxLanes(d) < 8 ? 8 : static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kBits < 64 ? 64 / kBits : 1;
  // As wide as what is stored: of an integer that is wider, GCC 12 with -fsanitize=thread took the
  // rest for anything.
  using Bits = hwy::UnsignedFromSize<kBits / 8>;
  int first = 0;
  for (; first + kVectors * width <= count; first += kVectors * width) {
    std::uint64_t found = 0;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      Bits bits = 0;
      hn::StoreMaskBits(d, is(d, hn::LoadU(d, data + first + v * width)),
                        reinterpret_cast<std::uint8_t*>(&bits));
      found |= std::uint64_t{bits} << (v * kBits);
    }
    if (found != 0) {
      const int bit = std::countr_zero(found);
      return first + bit / kBits * width + bit % kBits;
    }
  }
  for (;; first += width) {  // the last vector has some of the one before it
    const int at = first + width <= count ? first : count - width;
    const auto found = hn::FindFirstTrue(d, is(d, hn::LoadU(d, data + at)));
    if (found >= 0) return at + static_cast<int>(found);
  }
}

// ARGMIN and ARGMAX do not tell zeros of either sign apart, nor one NaN from another.
template <typename T>
HWY_INLINE int IndexOfFloat(const T* HWY_RESTRICT data, int count, T wanted) {
  using Bits = internal::SameSizeInt<T>;
  constexpr Bits kMagnitude = internal::kAllButSign<Bits>;
  const auto* bits = reinterpret_cast<const Bits*>(data);
  const Bits wanted_bits = BitCast<Bits>(wanted);
  if (IsNan(wanted)) {
    return FirstOf(bits, count, [](auto d, auto x) {
      return hn::Gt(hn::And(x, hn::Set(d, kMagnitude)),
                    hn::Set(d, BitCast<Bits>(Infinity<T>(false))));
    });
  }
  if ((wanted_bits & kMagnitude) == 0) {
    return FirstOf(bits, count, [](auto d, auto x) {
      return hn::Eq(hn::And(x, hn::Set(d, kMagnitude)), hn::Zero(d));
    });
  }
  return FirstOf(bits, count,
                 [wanted_bits](auto d, auto x) { return hn::Eq(x, hn::Set(d, wanted_bits)); });
}

template <typename T>
HWY_INLINE int IndexOfInteger(const T* HWY_RESTRICT data, int count, T wanted) {
  using Lane = decltype(Integer(wanted));
  const auto* integers = reinterpret_cast<const Lane*>(data);
  const Lane lane = Integer(wanted);
  if (std::is_same_v<T, Bool> && lane != 0) {
    return FirstOf(integers, count, [](auto d, auto x) { return hn::Ne(x, hn::Zero(d)); });
  }
  return FirstOf(integers, count, [lane](auto d, auto x) { return hn::Eq(x, hn::Set(d, lane)); });
}

template <typename T, bool kOmitsNan>
struct ExtremesOf {
  static Extremes<T> Both(const T* HWY_RESTRICT data, int count) {
    if constexpr (kIsFloat<T>) {
      const Extremes<T> both = BothOfFloats(data, count);
      const bool has_nan = both.greatest == kOfNan<T>.greatest;
      return kOmitsNan && has_nan ? BothOfNumbers(data, count) : both;
    } else {
      return BothOfIntegers(data, count);
    }
  }
  static OrderedKey<T> Least(const T* HWY_RESTRICT data, int count) {
    return Both(data, count).least;
  }
  static OrderedKey<T> Greatest(const T* HWY_RESTRICT data, int count) {
    return Both(data, count).greatest;
  }
  static int IndexOf(const T* HWY_RESTRICT data, int count, OrderedKey<T> key) {
    const T wanted = FromKey<T>(key);
    if constexpr (kIsFloat<T>) {
      return IndexOfFloat(data, count, wanted);
    } else {
      return IndexOfInteger(data, count, wanted);
    }
  }
};

const ExtremeLoopTable& AllExtremeLoops() {
  static constexpr auto kLoops =
      ExtremeLoopTable::Of([]<typename T, bool kOmitsNan>(TypeTag<ExtremeLoops<T, kOmitsNan>>) {
        using L = ExtremesOf<T, kOmitsNan>;
        return ExtremeLoops<T, kOmitsNan>{&L::Both, &L::Least, &L::Greatest, &L::IndexOf};
      });
  return kLoops;
}

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

HWY_EXPORT(AllExtremeLoops);
const ExtremeLoopTable& GetExtremeLoops() { return HWY_DYNAMIC_DISPATCH(AllExtremeLoops)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
