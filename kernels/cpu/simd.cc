#include "kernels/cpu/simd.h"

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
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

// The first `count` elements of a row tile: add(acc, x, number) each, and then combine(a, b).
template <typename Acc, typename T, class Add, class Combine>
Acc FoldTileWith(const T* HWY_RESTRICT tile, int count, const Acc& identity, const Add& add,
                 const Combine& combine) {
  constexpr int kRow = kRowElements<T>;
  alignas(64) Acc acc[kRow];
  for (int i = 0; i < kRow; ++i) acc[i] = identity;
  const int whole_rows = count / kRow;
  for (int row = 0; row < whole_rows; ++row) {
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

// The loops of a component that reads its elements once.
template <typename T, class C>
struct LoopsOf {
  using Acc = typename C::Acc;

  static Acc FoldTile(const T* HWY_RESTRICT tile, int count) {
    return FoldTileWith(
        tile, count, C::Identity(), [](Acc& a, T x, int number) { AddElement<C>(a, x, number); },
        [](const Acc& a, const Acc& b) { return C::Combine(a, b); });
  }

  static void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int first_row, int rows,
                       std::int64_t columns, Acc* HWY_RESTRICT out) {
    for (std::int64_t c = 0; c < columns; ++c) out[c] = C::Identity();
    for (int row = first_row; row < first_row + rows; ++row) {
      const T* HWY_RESTRICT x = data + row * stride;
      for (std::int64_t c = 0; c < columns; ++c) AddElement<C>(out[c], x[c], row);
    }
  }
};

// Of moments: sums, and then the squares of the deviations from their mean. kOmits: without NaN.
template <typename T, bool kOmits>
struct MomentLoops {
  using Acc = typename Moments<T>::Acc;
  using Summed = std::conditional_t<kOmits, OmitNan<Sum<T>>, Sum<T>>;

  static Acc FoldTile(const T* HWY_RESTRICT tile, int count) {
    std::int64_t present = count;
    if constexpr (kOmits) present -= LoopsOf<T, NanCount<T>>::FoldTile(tile, count);
    if (present == 0) return Moments<T>::Identity();
    const double mean =
        ToDouble(LoopsOf<T, Summed>::FoldTile(tile, count)) / static_cast<double>(present);
    const double squares = FoldTileWith(
        tile, count, 0.0, [mean](double& a, T x, int) { AddDeviation(a, x, mean); },
        [](double a, double b) { return a + b; });
    return {mean, squares, present};
  }

  static void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int first_row, int rows,
                       std::int64_t columns, Acc* HWY_RESTRICT out) {
    constexpr std::int64_t kBlock = 64;
    for (std::int64_t first = 0; first < columns; first += kBlock) {
      const std::int64_t width = columns - first < kBlock ? columns - first : kBlock;
      typename Sum<T>::Acc sums[kBlock];
      LoopsOf<T, Summed>::FoldLeaf(data + first, stride, first_row, rows, width, sums);
      std::int32_t nans[kBlock] = {};
      if constexpr (kOmits) {
        LoopsOf<T, NanCount<T>>::FoldLeaf(data + first, stride, first_row, rows, width, nans);
      }
      double means[kBlock];
      double squares[kBlock] = {};
      for (std::int64_t c = 0; c < width; ++c) {
        means[c] = ToDouble(sums[c]) / static_cast<double>(rows - nans[c]);
      }
      for (int row = first_row; row < first_row + rows; ++row) {
        const T* HWY_RESTRICT x = data + row * stride + first;
        for (std::int64_t c = 0; c < width; ++c) AddDeviation(squares[c], x[c], means[c]);
      }
      for (std::int64_t c = 0; c < width; ++c) {
        const std::int64_t present = rows - nans[c];
        out[first + c] = present == 0 ? Moments<T>::Identity() : Acc{means[c], squares[c], present};
      }
    }
  }

 private:
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
  static constexpr SimdLoops<T, C> kLoops{&LoopsOf<T, C>::FoldTile, &LoopsOf<T, C>::FoldLeaf,
                                          &CombineColumns<T, C>};
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
