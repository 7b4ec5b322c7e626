#include "kernels/cpu/simd.h"

#include <limits>
#include <type_traits>

#include "kernels/canonical.h"
#include "kernels/components.h"

#ifndef WARPFOLD_FOR_EACH_LOOP
// do_one(T, name of T, name of the component, component) for every loop that a fold may ask for.
#define WARPFOLD_FOR_EACH_COMPONENT(do_one, T, name)                                        \
  do_one(T, name, Sum, Sum<T>) do_one(T, name, Min, Min<T>) do_one(T, name, Max, Max<T>)    \
      do_one(T, name, NonzeroCount, NonzeroCount<T>) do_one(T, name, NanCount, NanCount<T>) \
          do_one(T, name, InfCount, InfCount<T>) do_one(T, name, AbsSum, AbsSum<T>)         \
              do_one(T, name, SquareSum, SquareSum<T>) do_one(T, name, Moments, Moments<T>) \
                  do_one(T, name, Product, Product<T>) do_one(T, name, ArgMin, ArgMin<T>)   \
                      do_one(T, name, ArgMax, ArgMax<T>)
// And without NaN.
#define WARPFOLD_FOR_EACH_OMITTING_COMPONENT(do_one, T, name)                               \
  do_one(T, name, OmitNanSum, OmitNan<Sum<T>>) do_one(T, name, OmitNanMin, OmitNan<Min<T>>) \
      do_one(T, name, OmitNanMax, OmitNan<Max<T>>)                                          \
          do_one(T, name, OmitNanNonzeroCount, OmitNan<NonzeroCount<T>>)                    \
              do_one(T, name, OmitNanNanCount, OmitNan<NanCount<T>>)                        \
                  do_one(T, name, OmitNanInfCount, OmitNan<InfCount<T>>)                    \
                      do_one(T, name, OmitNanAbsSum, OmitNan<AbsSum<T>>)                    \
                          do_one(T, name, OmitNanSquareSum, OmitNan<SquareSum<T>>)          \
                              do_one(T, name, OmitNanMoments, OmitNan<Moments<T>>)          \
                                  do_one(T, name, OmitNanProduct, OmitNan<Product<T>>)      \
                                      do_one(T, name, OmitNanArgMin, OmitNan<ArgMin<T>>)    \
                                          do_one(T, name, OmitNanArgMax, OmitNan<ArgMax<T>>)
#define WARPFOLD_FOR_EACH_FLOAT_LOOP(do_one, T, name) \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, T, name)        \
  WARPFOLD_FOR_EACH_OMITTING_COMPONENT(do_one, T, name)
#define WARPFOLD_FOR_EACH_LOOP(do_one)                    \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, Bool, Bool)         \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::int8_t, I8)    \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::uint8_t, U8)   \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::int16_t, I16)  \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::uint16_t, U16) \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::int32_t, I32)  \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::uint32_t, U32) \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::int64_t, I64)  \
  WARPFOLD_FOR_EACH_COMPONENT(do_one, std::uint64_t, U64) \
  WARPFOLD_FOR_EACH_FLOAT_LOOP(do_one, Half, F16)         \
  WARPFOLD_FOR_EACH_FLOAT_LOOP(do_one, BFloat16, BF16)    \
  WARPFOLD_FOR_EACH_FLOAT_LOOP(do_one, float, F32)        \
  WARPFOLD_FOR_EACH_FLOAT_LOOP(do_one, double, F64)
#endif

// This file is compiled once for each SIMD target; the loops below are plain, and the compiler
// vectorises them at that target's width.
//
// Processors have AVX2 since 2013; what lies between it and the baseline is not worth its code.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd.cc"
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
  std::conditional_t<sizeof(T) <= 2, std::uint16_t, std::int32_t> found = 0;
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

// visit(0) ... visit(rows - 1); straight code for the rows of a whole leaf.
using WholeLeaf = std::integral_constant<int, kLeafRows>;
template <class Visit>
HWY_INLINE void ForEachRow(WholeLeaf, const Visit& visit) {
#pragma GCC unroll 8
  for (int row = 0; row < kLeafRows; ++row) visit(row);
}
template <class Visit>
HWY_INLINE void ForEachRow(int rows, const Visit& visit) {
  for (int row = 0; row < rows; ++row) visit(row);
}

// The loops of a component that reads its elements once.
template <typename T, class C>
struct LoopsOf {
  using Acc = typename C::Acc;
  template <template <typename> class Other>
  static constexpr bool kIs = std::is_same_v<C, Other<T>>;

  static Acc FoldTile(const T* HWY_RESTRICT tile, int count) {
    if constexpr (kIs<NonzeroCount>) {
      return CountNonzero(tile, count);
    } else if constexpr (sizeof(T) == 1 && (kIs<Sum> || kIs<AbsSum>)) {
      return SumOfBytes<T, kIs<AbsSum>>(tile, count);
    } else if constexpr (kHasNoOrder<C>) {
      Acc acc = C::Identity();
      for (int i = 0; i < count; ++i) AddElement<C>(acc, tile[i], i);
      return acc;
    } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8 && (kIs<Sum> || kIs<AbsSum>)) {
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

  static void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int first_row, int rows,
                       std::int64_t columns, Acc* HWY_RESTRICT out) {
    data += first_row * stride;
    if (rows == kLeafRows) {
      // Whole leaves in registers: a column's running value is stored once.
      for (std::int64_t c = 0; c < columns; ++c) {
        Acc acc = C::Identity();
        ForEachRow(WholeLeaf(),
                   [&](int row) { AddElement<C>(acc, data[row * stride + c], first_row + row); });
        out[c] = acc;
      }
      return;
    }
    for (std::int64_t c = 0; c < columns; ++c) out[c] = C::Identity();
    for (int row = 0; row < rows; ++row) {
      const T* HWY_RESTRICT x = data + row * stride;
      for (std::int64_t c = 0; c < columns; ++c) AddElement<C>(out[c], x[c], first_row + row);
    }
  }
};

// Of moments: sums, and then the squares of the deviations from their mean. kOmits: without NaN.
template <typename T, bool kOmits>
struct MomentLoops {
  using Acc = typename Moments<T>::Acc;
  using Summed = std::conditional_t<kOmits, OmitNan<Sum<T>>, Sum<T>>;

  static double FoldTile(const T* HWY_RESTRICT tile, int count, double mean) {
    return FoldTileWith(
        tile, count, 0.0, [mean](double& a, T x, int) { AddDeviation(a, x, mean); },
        [](double a, double b) { return a + b; });
  }

  static void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int first_row, int rows,
                       std::int64_t columns, Acc* HWY_RESTRICT out) {
    data += first_row * stride;
    // Whole leaves in registers.
    if (rows == kLeafRows) {
      FoldRows(data, stride, WholeLeaf(), columns, out);
    } else {
      FoldRows(data, stride, rows, columns, out);
    }
  }

 private:
  template <typename Rows>
  static HWY_INLINE void FoldRows(const T* HWY_RESTRICT data, std::int64_t stride, Rows rows,
                                  std::int64_t columns, Acc* HWY_RESTRICT out) {
    for (std::int64_t c = 0; c < columns; ++c) {
      typename Sum<T>::Acc sum = Summed::Identity();
      std::int32_t nans = 0;
      ForEachRow(rows, [&](int row) {
        const T x = data[row * stride + c];
        AddElement<Summed>(sum, x, row);
        if constexpr (kOmits) NanCount<T>::Add(nans, x);
      });
      const std::int64_t present = rows - nans;
      const double mean = ToDouble(sum) / static_cast<double>(present);
      double squares = 0;
      ForEachRow(rows, [&](int row) { AddDeviation(squares, data[row * stride + c], mean); });
      out[c] = present == 0 ? Moments<T>::Identity() : Acc{mean, squares, present};
    }
  }

  static HWY_INLINE void AddDeviation(double& a, T x, double mean) {
    double added = a;
    Moments<T>::AddDeviation(added, x, mean);
    a = kOmits && IsNan(x) ? a : added;
  }
};
template <typename T>
struct LoopsOf<T, Moments<T>> : MomentLoops<T, false> {};
template <typename T>
struct LoopsOf<T, OmitNan<Moments<T>>> : MomentLoops<T, true> {};

template <typename T, class C>
void CombineColumns(const typename C::Acc* HWY_RESTRICT left, typename C::Acc* HWY_RESTRICT right,
                    std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) right[c] = C::Combine(left[c], right[c]);
}

template <typename T, class C>
const SimdLoops<T, C>* Loops() {
  using L = LoopsOf<T, C>;
  static constexpr auto kFoldTile = [] {
    if constexpr (kIsExtreme<C>) {
      return nullptr;
    } else {
      return &L::FoldTile;
    }
  }();
  static constexpr SimdLoops<T, C> kLoops{kFoldTile, &L::FoldLeaf, &CombineColumns<T, C>};
  return &kLoops;
}

// Dispatch works on functions, not on templates: one for each element type and component.
#define WARPFOLD_SIMD_LOOP(T, name, component, C) \
  const SimdLoops<T, C>* component##name() { return Loops<T, C>(); }
WARPFOLD_FOR_EACH_LOOP(WARPFOLD_SIMD_LOOP)
#undef WARPFOLD_SIMD_LOOP

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_SIMD_EXPORT(T, name, component, C)  \
  HWY_EXPORT(component##name);                       \
  template <>                                        \
  const SimdLoops<T, C>& GetSimdLoops<T, C>() {      \
    return *HWY_DYNAMIC_DISPATCH(component##name)(); \
  }
WARPFOLD_FOR_EACH_LOOP(WARPFOLD_SIMD_EXPORT)
#undef WARPFOLD_SIMD_EXPORT

HWY_EXPORT(TargetName);
const char* SimdTargetName() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
