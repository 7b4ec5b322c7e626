#include "kernels/cpu/tile_loops.h"

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/each_loop.h"
#include "kernels/dtypes/element.h"
#include "kernels/dtypes/ordered_key.h"
#include "kernels/tiles.h"

// This file is compiled once for each SIMD target; the loops below are plain, and the compiler
// vectorises them at that target's width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/tile_loops.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

// The next tile, while this one is folded: the stores of running values keep the processor from
// looking that far ahead by itself. One core of an EPYC (Zen 4) then summed f32 in memory at 21
// GB/s instead of 10 (2026-11-21).
HWY_INLINE void PrefetchAfter(const void* tile, int row) {
  constexpr int kLineBytes = 64;
  constexpr int kRowBytes = kLanes * kVectorBytes;
  const char* next = static_cast<const char*>(tile) + kTileBytes + row * kRowBytes;
  for (int line = 0; line < kRowBytes; line += kLineBytes) hwy::Prefetch(next + line);
}

// The first `count` elements of a row tile: add(acc, x, number) each, and then combine(a, b).
template <typename Acc, typename T, class Add, class Combine>
Acc FoldTileWith(const T* HWY_RESTRICT tile, int count, const Acc& identity, const Add& add,
                 const Combine& combine) {
  constexpr int kRow = kRowElements<T>;
  alignas(64) Acc acc[kRow];
  for (int i = 0; i < kRow; ++i) acc[i] = identity;
  const int whole_rows = count / kRow;
  for (int row = 0; row < whole_rows; ++row) {
    PrefetchAfter(tile, row);
    for (int i = 0; i < kRow; ++i) add(acc[i], tile[row * kRow + i], row * kRow + i);
  }
  for (int i = 0; i < count - whole_rows * kRow; ++i) {
    const int number = whole_rows * kRow + i;
    add(acc[i], tile[number], number);
  }
  // A lane's vector elements: neighbouring pairs.
  for (int width = kRow / 2; width >= kLanes; width /= 2) {
    for (int i = 0; i < width; ++i) acc[i] = combine(acc[2 * i], acc[2 * i + 1]);
  }
  // Lanes: by halves.
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) acc[i] = combine(acc[i], acc[i + half]);
  }
  return acc[0];
}

// What adds up exactly: no order shows, so one running value will do, of which compilers make as
// many as they have registers for.
template <class C>
inline constexpr bool kHasNoOrder =
    std::is_integral_v<typename C::Acc>&& kJoinOf<C> == Join::kAdd && !kOmitsNan<C>;

// Elements of a tile that `is` holds of. Counted in 16 bits where a tile has no more: a vector then
// has room for more counts.
template <typename T, class Predicate>
HWY_INLINE std::int32_t CountIf(const T* HWY_RESTRICT tile, int count, const Predicate& is) {
  std::conditional_t<kKeyBits<T> == 16, std::uint16_t, std::int32_t> found = 0;
  for (int i = 0; i < count; ++i) found += is(tile[i]) ? 1 : 0;
  return found;
}

// Of floats by their bits: compilers find it hard to compare 16-bit ones as numbers.
template <typename T>
std::int32_t CountNonzero(const T* HWY_RESTRICT tile, int count) {
  return CountIf(tile, count, [](T x) {
    if constexpr (kIsFloat<T>) {
      using Bits = internal::SameSizeInt<T>;
      return (BitCast<Bits>(x) & internal::kAllButSign<Bits>) != 0;
    } else {
      return Widen(x) != 0;
    }
  });
}

// Sums of bytes, exact: eight at a time by one instruction, as unsigned numbers. Signed ones are
// 128 more for it.
template <typename T, bool kAbsolute>
std::int32_t SumOfBytes(const T* HWY_RESTRICT tile, int count) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr bool kIsSigned = std::is_signed_v<T>;
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const int width = static_cast<int>(hn::Lanes(d));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(tile);
  const auto unsigned_of = [&](auto x) {
    if constexpr (std::is_same_v<T, Bool>) {
      return hn::Min(x, hn::Set(d, 1));
    } else if constexpr (kIsSigned && kAbsolute) {
      return hn::BitCast(d, hn::Abs(hn::BitCast(hn::RebindToSigned<decltype(d)>(), x)));
    } else if constexpr (kIsSigned) {
      return hn::Xor(x, hn::Set(d, 0x80));
    } else {
      return x;
    }
  };
  auto sums = hn::Zero(d64);
  int i = 0;
  for (; i + width <= count; i += width) {
    sums = hn::Add(sums, hn::SumsOf8(unsigned_of(hn::LoadU(d, bytes + i))));
  }
  auto sum = static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d64, sums)));
  if constexpr (kIsSigned && !kAbsolute) sum -= 128 * i;
  for (; i < count; ++i) {
    const std::int32_t x = Widen(tile[i]);
    sum += kAbsolute && x < 0 ? -x : x;
  }
  return sum;
}

// Sums of 64-bit integers, exact: the halves of up to 512 of them add up in 64 bits.
template <typename T, bool kAbsolute>
int128 SumOfWide(const T* HWY_RESTRICT tile, int count) {
  using Bits = std::conditional_t<kAbsolute, std::uint64_t, T>;
  std::int64_t low = 0, high = 0;
  for (int i = 0; i < count; ++i) {
    const bool flips = kAbsolute && tile[i] < 0;
    const Bits x = flips ? Bits{0} - static_cast<Bits>(tile[i]) : static_cast<Bits>(tile[i]);
    low += static_cast<std::int64_t>(x & 0xffffffff);
    high += static_cast<std::int64_t>(x >> 32);
  }
  return static_cast<int128>(high) * (int128{1} << 32) + low;
}

// Products of integers: 0; or past 64 bits by as many factors other than 1 and -1; or multiplied.
template <typename T>
typename Product<T>::Acc ProductOfIntegers(const T* HWY_RESTRICT tile, int count) {
  if (CountIf(tile, count, [](T x) { return Widen(x) == 0; }) > 0) return {0, 0, 0};
  constexpr bool kIsSigned = std::is_signed_v<Wide<T>>;
  const std::int32_t units = CountIf(tile, count, [](T x) {
    const auto wide = Widen(x);
    return wide == 1 || (kIsSigned && wide == static_cast<Wide<T>>(-1));
  });
  if (count - units >= 64) {
    std::int32_t negatives = 0;
    if constexpr (kIsSigned) negatives = CountIf(tile, count, [](T x) { return Widen(x) < 0; });
    return {~std::uint64_t{0}, static_cast<std::uint32_t>(negatives & 1), 1};
  }
  auto acc = Product<T>::Identity();
  for (int i = 0; i < count; ++i) Product<T>::Add(acc, tile[i]);
  return acc;
}

template <typename T, class C>
struct TileLoopOf {
  using Acc = typename C::Acc;
  template <template <typename> class Other>
  static constexpr bool kIs = std::is_same_v<C, Other<T>>;

  static Acc FoldTile(const T* HWY_RESTRICT tile, int count) {
    if constexpr (kIs<NonzeroCount>) {
      return CountNonzero(tile, count);
    } else if constexpr (kIsByteInteger<T> && (kIs<Sum> || kIs<AbsSum>)) {
      return SumOfBytes<T, kIs<AbsSum>>(tile, count);
    } else if constexpr (kHasNoOrder<C>) {
      Acc acc = C::Identity();
      for (int i = 0; i < count; ++i) AddElement<C>(acc, tile[i], i);
      return acc;
    } else if constexpr (kIsWideInteger<T> && (kIs<Sum> || kIs<AbsSum>)) {
      return SumOfWide<T, kIs<AbsSum>>(tile, count);
    } else if constexpr (!kIsFloat<T> && kIs<Product>) {
      return ProductOfIntegers(tile, count);
    } else {
      return FoldInOrder(tile, count);
    }
  }

  static Acc FoldInOrder(const T* HWY_RESTRICT tile, int count) {
    return FoldTileWith(
        tile, count, C::Identity(), [](Acc& a, T x, int number) { AddElement<C>(a, x, number); },
        [](const Acc& a, const Acc& b) { return C::Combine(a, b); });
  }
};

#define WARPFOLD_LOOP(T, name, component, C) \
  TileLoop<T, C>* component##Of##name() { return &TileLoopOf<T, C>::FoldTile; }
WARPFOLD_LOOPS_OF_TILES
#undef WARPFOLD_LOOP

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_LOOP(T, name, component, C)            \
  HWY_EXPORT(component##Of##name);                      \
  template <>                                           \
  TileLoop<T, C>* GetTileLoop<T, C>() {                 \
    return HWY_DYNAMIC_DISPATCH(component##Of##name)(); \
  }
WARPFOLD_LOOPS_OF_TILES
#undef WARPFOLD_LOOP

HWY_EXPORT(TargetName);
const char* SimdTargetName() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
