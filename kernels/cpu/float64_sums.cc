#include "kernels/cpu/float64_sums.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/canonical.h"
#include "kernels/cpu/each_loop.h"
#include "kernels/element.h"

// Compiled once for each SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/float64_sums.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr int kWidth = static_cast<int>(hn::MaxLanes(D()));
// Vectors of running values of one sum, and of each of three. More would leave no registers for
// elements; fewer read columns that are too far apart: on an EPYC (Zen 4) with AVX2, 16 gave f32
// sums in memory of 21 GB/s and 8 gave 15 (2026-11-21).
constexpr int kRunningOfOne = 16;
constexpr int kRunningOfThree = 8;
// A line this far ahead for each line read. The processor's own prefetchers end with a page, which
// is a tile, and see no stream in columns read apart. On Xeons (Sapphire Rapids) f32 sums of a GiB
// came to 0.97 of a plain read on 16 threads (0.95 one tile ahead, 0.79 without) and to 1.00 on two
// (0.92 without); from a cache to what they were (2026-11-22).
constexpr int kPrefetchTiles = 2;

template <typename T>
HWY_INLINE V LoadWide(const T* from) {
  const D d;
  const hn::Rebind<float, D> d32;
  if constexpr (std::is_same_v<T, double>) {
    return hn::LoadU(d, from);
  } else if constexpr (std::is_same_v<T, float>) {
    return hn::PromoteTo(d, hn::LoadU(d32, from));
  } else if constexpr (std::is_same_v<T, Half>) {
    const hn::Rebind<hwy::float16_t, D> d16;
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
    return hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d16, halves)));
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    const hn::Rebind<std::int32_t, D> i32;
    return hn::PromoteTo(d, hn::LoadU(i32, from));
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    const hn::Rebind<std::uint32_t, D> u32;
    const hn::Rebind<std::uint64_t, D> u64;
    const hn::Rebind<std::int64_t, D> i64;
    return hn::ConvertTo(d, hn::BitCast(i64, hn::PromoteTo(u64, hn::LoadU(u32, from))));
  } else if constexpr (std::is_integral_v<T>) {
    const hn::Rebind<T, D> d64;
    return hn::ConvertTo(d, hn::LoadU(d64, from));
  } else {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<std::uint32_t, D> bits32;
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(bits32, hn::LoadU(d16, bits)));
    return hn::PromoteTo(d, hn::BitCast(d32, wide));
  }
}

// These add a vector of elements to `kSums` running ones. Identities are the components', and so is
// what joins two running ones.
template <bool kOmitsNan>
HWY_INLINE V AddNumbers(V a, V added, V x) {
  if constexpr (kOmitsNan) return hn::IfThenElse(hn::IsNaN(x), a, added);
  return added;
}
struct JoinByAdding {
  static HWY_INLINE auto Join(auto a, auto b) { return hn::Add(a, b); }
};
template <bool kOmitsNan>
struct AddSum : JoinByAdding {
  static constexpr int kSums = 1;
  static constexpr double kIdentity[] = {-0.0};
  HWY_INLINE void operator()(V* a, int, V x) const {
    a[0] = AddNumbers<kOmitsNan>(a[0], hn::Add(a[0], x), x);
  }
};
struct AddSquare : JoinByAdding {
  static constexpr int kSums = 1;
  static constexpr double kIdentity[] = {0.0};
  HWY_INLINE void operator()(V* a, int, V x) const { a[0] = hn::MulAdd(x, x, a[0]); }
};
template <bool kOmitsNan>
struct MultiplyBy {
  static constexpr int kSums = 1;
  static constexpr double kIdentity[] = {1.0};
  HWY_INLINE void operator()(V* a, int, V x) const {
    a[0] = AddNumbers<kOmitsNan>(a[0], hn::Mul(a[0], x), x);
  }
  static HWY_INLINE auto Join(auto a, auto b) { return hn::Mul(a, b); }
};
template <bool kOmitsNan>
struct AddSums : JoinByAdding {
  static constexpr int kSums = 3;
  static constexpr double kIdentity[] = {-0.0, 0.0, 0.0};
  HWY_INLINE void operator()(V* a, int apart, V x) const {
    V& sum = a[0];
    V& abs_sum = a[apart];
    V& square_sum = a[2 * apart];
    sum = AddNumbers<kOmitsNan>(sum, hn::Add(sum, x), x);
    abs_sum = AddNumbers<kOmitsNan>(abs_sum, hn::Add(abs_sum, hn::Abs(x)), x);
    square_sum = AddNumbers<kOmitsNan>(square_sum, hn::MulAdd(x, x, square_sum), x);
  }
};
template <bool kOmitsNan>
struct AddDeviation : JoinByAdding {
  explicit AddDeviation(double of) : mean(hn::Set(D(), of)) {}
  static constexpr int kSums = 1;
  static constexpr double kIdentity[] = {0.0};
  V mean;
  HWY_INLINE void operator()(V* a, int, V x) const {
    const V apart = hn::Sub(x, mean);
    a[0] = AddNumbers<kOmitsNan>(a[0], hn::MulAdd(apart, apart, a[0]), x);
  }
};

// Where `some` is set.
template <class Add>
HWY_INLINE void AddSome(const Add& add, V* acc, int apart, V x, hn::Mask<D> some) {
  V before[Add::kSums];
#pragma GCC unroll 3
  for (int sum = 0; sum < Add::kSums; ++sum) before[sum] = acc[sum * apart];
  add(acc, apart, x);
#pragma GCC unroll 3
  for (int sum = 0; sum < Add::kSums; ++sum) {
    acc[sum * apart] = hn::IfThenElse(some, acc[sum * apart], before[sum]);
  }
}

// Neighbouring pairs of `kCount` vectors, joined in half as many.
template <class Add, int kCount>
HWY_INLINE void JoinPairs(V* v) {
  const D d;
#pragma GCC unroll 16
  for (int i = 0; i < kCount / 2; ++i) {
    v[i] = Add::Join(hn::ConcatEven(d, v[2 * i + 1], v[2 * i]),
                     hn::ConcatOdd(d, v[2 * i + 1], v[2 * i]));
  }
}

// The lanes of a vector, joined by halves; and of several, which are lanes one after another.
template <class Add, class D1>
HWY_INLINE double FoldHalves(D1, hn::Vec<D1> v) {
  if constexpr (hn::MaxLanes(D1()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D1> half;
    return FoldHalves<Add>(half, Add::Join(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
template <class Add, int kVectors>
HWY_INLINE double FoldLanes(V* v) {
#pragma GCC unroll 4
  for (int half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) v[i] = Add::Join(v[i], v[i + half]);
  }
  return FoldHalves<Add>(D(), v[0]);
}

// The columns from `first` on, of `kVectors` vectors, of a tile's `count` elements: added up from
// front to back, and then each lane's to its place in `lanes`, `apart` vectors for each sum.
template <typename T, int kColumns, int kVectors, class Add>
HWY_INLINE void FoldBlock(const T* HWY_RESTRICT tile, int count, int first, const Add& add,
                          V* lanes, int apart) {
  constexpr int kRow = kRowElements<T>;
  constexpr int kBlock = kVectors * kWidth;
  constexpr int kPairs = kVectorElements<T>;
  constexpr int kLineElements = 64 / static_cast<int>(sizeof(T));
  V acc[Add::kSums * kVectors];
#pragma GCC unroll 32
  for (int v = 0; v < Add::kSums * kVectors; ++v) {
    acc[v] = hn::Set(D(), Add::kIdentity[v / kVectors]);
  }
  const int rows = kColumns < kRow ? 0 : count / kRow;
  for (int row = 0; row < rows; ++row) {
    const T* from = tile + row * kRow + first;
    for (int i = 0; i < kBlock; i += kLineElements) {
      hwy::Prefetch(from + kPrefetchTiles * kTileElements<T> + i);
    }
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) add(acc + v, kVectors, LoadWide(from + v * kWidth));
    // Row after row: GCC unrolled f64's rows and read column after column, and what was to be 30
    // GB/s from memory was 7.
    asm volatile("" ::: "memory");
  }
  // A row that is not whole.
  const T* from = tile + rows * kRow + first;
  const int rest = count - rows * kRow - first;
  if (rest > 0) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const int left = rest - v * kWidth;
      if (left >= kWidth) {
        add(acc + v, kVectors, LoadWide(from + v * kWidth));
      } else if (left > 0) {
        T last[kWidth] = {};
        for (int i = 0; i < left; ++i) last[i] = from[v * kWidth + i];
        AddSome(add, acc + v, kVectors, LoadWide(last),
                hn::FirstN(D(), static_cast<std::size_t>(left)));
      }
    }
  }
#pragma GCC unroll 3
  for (int sum = 0; sum < Add::kSums; ++sum) {
    V* block = acc + sum * kVectors;
    JoinPairs<Add, kVectors>(block);
    if constexpr (kPairs >= 4) JoinPairs<Add, kVectors / 2>(block);
    if constexpr (kPairs >= 8) JoinPairs<Add, kVectors / 4>(block);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors / kPairs; ++i) lanes[sum * apart + i] = block[i];
  }
}

// A tile's `count` elements, of which no row has more than the first `kColumns`, from front to
// back: as many columns at a time as `kRunning` registers have running values for. Columns without
// elements would change nothing.
template <typename T, int kColumns, int kRunning, class Add>
HWY_INLINE void FoldColumns(const T* HWY_RESTRICT tile, int count, const Add& add,
                            double* HWY_RESTRICT results) {
  constexpr int kBlock = kColumns < kRunning * kWidth ? kColumns : kRunning * kWidth;
  constexpr int kVectors = kBlock / kWidth;
  static_assert(kVectors % kVectorElements<T> == 0);
  constexpr int kLaneVectors = kColumns / kVectorElements<T> / kWidth;
  V lanes[Add::kSums * kLaneVectors];
#pragma GCC unroll 4
  for (int block = 0; block < kColumns / kBlock; ++block) {
    FoldBlock<T, kColumns, kVectors>(tile, count, block * kBlock, add,
                                     lanes + block * kVectors / kVectorElements<T>, kLaneVectors);
  }
#pragma GCC unroll 3
  for (int sum = 0; sum < Add::kSums; ++sum) {
    results[sum] = FoldLanes<Add, kLaneVectors>(lanes + sum * kLaneVectors);
  }
}

template <typename T, int kRunning, class Add>
HWY_INLINE void FoldTile(const T* HWY_RESTRICT tile, int count, const Add& add,
                         double* HWY_RESTRICT results) {
  constexpr int kRow = kRowElements<T>;
  if (count > kRow / 2) {
    FoldColumns<T, kRow, kRunning>(tile, count, add, results);
  } else if (count > kRow / 4) {
    FoldColumns<T, kRow / 2, kRunning>(tile, count, add, results);
  } else {
    FoldColumns<T, kRow / 4, kRunning>(tile, count, add, results);
  }
}

// The sums of columns: a line of elements at a time, and then of those that are left a vector and
// at last one.
template <typename T, bool kOmitsNan>
struct ColumnSums {
  static void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int first_row, int rows,
                       std::int64_t columns, double* HWY_RESTRICT out) {
    const T* first = data + first_row * stride;
    if (rows == kLeafRows) {
      FoldRows(first, stride, std::integral_constant<int, kLeafRows>(), columns, out);
    } else {
      FoldRows(first, stride, rows, columns, out);
    }
  }

 private:
  template <typename Rows>
  static HWY_INLINE void FoldRows(const T* HWY_RESTRICT first, std::int64_t stride, Rows rows,
                                  std::int64_t columns, double* HWY_RESTRICT out) {
    constexpr int kLine = 64 / static_cast<int>(sizeof(T));
    std::int64_t c = 0;
    for (; c + kLine <= columns; c += kLine) {
      FoldVectors<kLine / kWidth>(first + c, stride, rows, out + c);
    }
    for (; c + kWidth <= columns; c += kWidth) FoldVectors<1>(first + c, stride, rows, out + c);
    for (; c < columns; ++c) {
      using C = std::conditional_t<kOmitsNan, OmitNan<Sum<T>>, Sum<T>>;
      out[c] = C::Identity();
      for (int row = 0; row < rows; ++row) AddElement<C>(out[c], first[row * stride + c], row);
    }
  }

  template <int kVectors, typename Rows>
  static HWY_INLINE void FoldVectors(const T* HWY_RESTRICT first, std::int64_t stride, Rows rows,
                                     double* HWY_RESTRICT out) {
    const AddSum<kOmitsNan> add;
    V acc[kVectors];
#pragma GCC unroll 16
    for (V& sum : acc) sum = hn::Set(D(), add.kIdentity[0]);
#pragma GCC unroll 8
    for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        add(acc + v, 1, LoadWide(first + row * stride + v * kWidth));
      }
    }
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[v], D(), out + v * kWidth);
  }
};

template <typename T, bool kOmitsNan>
struct LoopsInFloat64 {
  template <class Add>
  static HWY_INLINE double FoldOne(const T* tile, int count, const Add& add) {
    double result;
    FoldTile<T, kRunningOfOne>(tile, count, add, &result);
    return result;
  }
  static double Sum(const T* tile, int count) { return FoldOne(tile, count, AddSum<kOmitsNan>()); }
  static FloatSums Sums(const T* tile, int count) {
    double sums[3];
    FoldTile<T, kRunningOfThree>(tile, count, AddSums<kOmitsNan>(), sums);
    return {sums[0], sums[1], sums[2]};
  }
  static double Product(const T* tile, int count) {
    return FoldOne(tile, count, MultiplyBy<kOmitsNan>());
  }
  static double Squares(const T* tile, int count) { return FoldOne(tile, count, AddSquare()); }
  static double Deviations(const T* tile, int count, double mean) {
    return FoldOne(tile, count, AddDeviation<kOmitsNan>(mean));
  }
};

template <typename T, bool kOmitsNan>
const Float64Loops<T, kOmitsNan>* LoopsFor() {
  using L = LoopsInFloat64<T, kOmitsNan>;
  if constexpr (kIsFloat<T>) {
    static constexpr Float64Loops<T, kOmitsNan> kLoops{
        &L::Sum, &L::Sums,       &L::Product,
        nullptr, &L::Deviations, &ColumnSums<T, kOmitsNan>::FoldLeaf};
    return &kLoops;
  } else {
    static constexpr Float64Loops<T, kOmitsNan> kLoops{nullptr,     nullptr,        nullptr,
                                                       &L::Squares, &L::Deviations, nullptr};
    return &kLoops;
  }
}
#else
template <typename T, bool kOmitsNan>
const Float64Loops<T, kOmitsNan>* LoopsFor() {
  return nullptr;
}
#endif

#define WARPFOLD_LOOP(T, name, omits_nan) \
  const Float64Loops<T, omits_nan>* LoopsFor##name() { return LoopsFor<T, omits_nan>(); }
WARPFOLD_LOOPS_OF_ELEMENTS(WARPFOLD_FOR_EACH_WIDE_INTEGER)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_LOOP(T, name, omits_nan)                             \
  HWY_EXPORT(LoopsFor##name);                                         \
  template <>                                                         \
  const Float64Loops<T, omits_nan>* GetFloat64Loops<T, omits_nan>() { \
    return HWY_DYNAMIC_DISPATCH(LoopsFor##name)();                    \
  }
WARPFOLD_LOOPS_OF_ELEMENTS(WARPFOLD_FOR_EACH_WIDE_INTEGER)
#undef WARPFOLD_LOOP

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
