#include "kernels/cpu/simd.h"

#include "kernels/canonical.h"
#include "kernels/components.h"

// This file is compiled once for each SIMD target; the loops below are plain, and the compiler
// vectorises them at that target's width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::cpu::HWY_NAMESPACE {

template <typename T, class C>
typename C::Acc FoldTile(const T* HWY_RESTRICT tile, int count) {
  using Acc = typename C::Acc;
  constexpr int kRow = kRowElements<T>;
  alignas(64) Acc acc[kRow];
  for (int i = 0; i < kRow; ++i) acc[i] = C::Identity();
  const int whole_rows = count / kRow;
  for (int row = 0; row < whole_rows; ++row) {
    for (int i = 0; i < kRow; ++i) C::Add(acc[i], tile[row * kRow + i]);
  }
  for (int i = 0; i < count - whole_rows * kRow; ++i) {
    C::Add(acc[i], tile[whole_rows * kRow + i]);
  }
  // A lane's vector elements: neighbouring pairs.
  for (int width = kRow / 2; width >= kLanes; width /= 2) {
    for (int i = 0; i < width; ++i) acc[i] = C::Combine(acc[2 * i], acc[2 * i + 1]);
  }
  // Lanes: by halves.
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) acc[i] = C::Combine(acc[i], acc[i + half]);
  }
  return acc[0];
}

template <typename T, class C>
void FoldLeaf(const T* HWY_RESTRICT data, std::int64_t stride, int rows, std::int64_t columns,
              typename C::Acc* HWY_RESTRICT out) {
  for (std::int64_t c = 0; c < columns; ++c) out[c] = C::Identity();
  for (int row = 0; row < rows; ++row) {
    const T* HWY_RESTRICT x = data + row * stride;
    for (std::int64_t c = 0; c < columns; ++c) C::Add(out[c], x[c]);
  }
}

template <typename T, class C>
void CombineColumns(const typename C::Acc* HWY_RESTRICT left, typename C::Acc* HWY_RESTRICT right,
                    std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) right[c] = C::Combine(left[c], right[c]);
}

template <typename T, class C>
const SimdLoops<T, C>* Loops() {
  static constexpr SimdLoops<T, C> kLoops{&FoldTile<T, C>, &FoldLeaf<T, C>, &CombineColumns<T, C>};
  return &kLoops;
}

// Dispatch works on functions, not on templates: one for each element type and component.
#define WARPFOLD_SIMD_LOOP(T, component, name) \
  const SimdLoops<T, component<T>>* component##name() { return Loops<T, component<T>>(); }
#define WARPFOLD_SIMD_LOOPS(T, name)        \
  WARPFOLD_SIMD_LOOP(T, Sum, name)          \
  WARPFOLD_SIMD_LOOP(T, Min, name)          \
  WARPFOLD_SIMD_LOOP(T, Max, name)          \
  WARPFOLD_SIMD_LOOP(T, NonzeroCount, name) \
  WARPFOLD_SIMD_LOOP(T, NanCount, name)     \
  WARPFOLD_SIMD_LOOP(T, InfCount, name)     \
  WARPFOLD_SIMD_LOOP(T, AbsSum, name)       \
  WARPFOLD_SIMD_LOOP(T, SquareSum, name)    \
  WARPFOLD_SIMD_LOOP(T, Moments, name)      \
  WARPFOLD_SIMD_LOOP(T, Product, name)
WARPFOLD_SIMD_LOOPS(Bool, Bool)
WARPFOLD_SIMD_LOOPS(std::int8_t, I8)
WARPFOLD_SIMD_LOOPS(std::uint8_t, U8)
WARPFOLD_SIMD_LOOPS(std::int16_t, I16)
WARPFOLD_SIMD_LOOPS(std::uint16_t, U16)
WARPFOLD_SIMD_LOOPS(std::int32_t, I32)
WARPFOLD_SIMD_LOOPS(std::uint32_t, U32)
WARPFOLD_SIMD_LOOPS(std::int64_t, I64)
WARPFOLD_SIMD_LOOPS(std::uint64_t, U64)
WARPFOLD_SIMD_LOOPS(Half, F16)
WARPFOLD_SIMD_LOOPS(BFloat16, BF16)
WARPFOLD_SIMD_LOOPS(float, F32)
WARPFOLD_SIMD_LOOPS(double, F64)
#undef WARPFOLD_SIMD_LOOPS
#undef WARPFOLD_SIMD_LOOP

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_SIMD_EXPORT(T, component, name)                      \
  HWY_EXPORT(component##name);                                        \
  template <>                                                         \
  const SimdLoops<T, component<T>>& GetSimdLoops<T, component<T>>() { \
    return *HWY_DYNAMIC_DISPATCH(component##name)();                  \
  }
#define WARPFOLD_SIMD_EXPORT_TYPE(T, name)    \
  WARPFOLD_SIMD_EXPORT(T, Sum, name)          \
  WARPFOLD_SIMD_EXPORT(T, Min, name)          \
  WARPFOLD_SIMD_EXPORT(T, Max, name)          \
  WARPFOLD_SIMD_EXPORT(T, NonzeroCount, name) \
  WARPFOLD_SIMD_EXPORT(T, NanCount, name)     \
  WARPFOLD_SIMD_EXPORT(T, InfCount, name)     \
  WARPFOLD_SIMD_EXPORT(T, AbsSum, name)       \
  WARPFOLD_SIMD_EXPORT(T, SquareSum, name)    \
  WARPFOLD_SIMD_EXPORT(T, Moments, name)      \
  WARPFOLD_SIMD_EXPORT(T, Product, name)
WARPFOLD_SIMD_EXPORT_TYPE(Bool, Bool)
WARPFOLD_SIMD_EXPORT_TYPE(std::int8_t, I8)
WARPFOLD_SIMD_EXPORT_TYPE(std::uint8_t, U8)
WARPFOLD_SIMD_EXPORT_TYPE(std::int16_t, I16)
WARPFOLD_SIMD_EXPORT_TYPE(std::uint16_t, U16)
WARPFOLD_SIMD_EXPORT_TYPE(std::int32_t, I32)
WARPFOLD_SIMD_EXPORT_TYPE(std::uint32_t, U32)
WARPFOLD_SIMD_EXPORT_TYPE(std::int64_t, I64)
WARPFOLD_SIMD_EXPORT_TYPE(std::uint64_t, U64)
WARPFOLD_SIMD_EXPORT_TYPE(Half, F16)
WARPFOLD_SIMD_EXPORT_TYPE(BFloat16, BF16)
WARPFOLD_SIMD_EXPORT_TYPE(float, F32)
WARPFOLD_SIMD_EXPORT_TYPE(double, F64)
#undef WARPFOLD_SIMD_EXPORT_TYPE
#undef WARPFOLD_SIMD_EXPORT

HWY_EXPORT(TargetName);
const char* SimdTargetName() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
