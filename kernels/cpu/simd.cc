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
  const int whole_rows = count / kRow;
  if (whole_rows > 0) {
    for (int i = 0; i < kRow; ++i) acc[i] = C::Lift(tile[i]);
  } else {
    for (int i = 0; i < kRow; ++i) acc[i] = C::Identity();
  }
  for (int row = 1; row < whole_rows; ++row) {
    for (int i = 0; i < kRow; ++i) acc[i] = C::Combine(acc[i], C::Lift(tile[row * kRow + i]));
  }
  for (int i = 0; i < count - whole_rows * kRow; ++i) {
    acc[i] = C::Combine(acc[i], C::Lift(tile[whole_rows * kRow + i]));
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
  for (std::int64_t c = 0; c < columns; ++c) out[c] = C::Lift(data[c]);
  for (int row = 1; row < rows; ++row) {
    const T* HWY_RESTRICT x = data + row * stride;
    for (std::int64_t c = 0; c < columns; ++c) out[c] = C::Combine(out[c], C::Lift(x[c]));
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
#define WARPFOLD_SIMD_LOOPS(T, name)                                     \
  const SimdLoops<T, Sum<T>>* Sum##name() { return Loops<T, Sum<T>>(); } \
  const SimdLoops<T, Min<T>>* Min##name() { return Loops<T, Min<T>>(); } \
  const SimdLoops<T, Max<T>>* Max##name() { return Loops<T, Max<T>>(); }
WARPFOLD_SIMD_LOOPS(std::int32_t, I32)
WARPFOLD_SIMD_LOOPS(std::int64_t, I64)
WARPFOLD_SIMD_LOOPS(float, F32)
WARPFOLD_SIMD_LOOPS(double, F64)
#undef WARPFOLD_SIMD_LOOPS

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace warpfold::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::cpu {

#define WARPFOLD_SIMD_EXPORT(T, component, name)                      \
  HWY_EXPORT(name);                                                   \
  template <>                                                         \
  const SimdLoops<T, component<T>>& GetSimdLoops<T, component<T>>() { \
    return *HWY_DYNAMIC_DISPATCH(name)();                             \
  }
#define WARPFOLD_SIMD_EXPORT_TYPE(T, name) \
  WARPFOLD_SIMD_EXPORT(T, Sum, Sum##name)  \
  WARPFOLD_SIMD_EXPORT(T, Min, Min##name)  \
  WARPFOLD_SIMD_EXPORT(T, Max, Max##name)
WARPFOLD_SIMD_EXPORT_TYPE(std::int32_t, I32)
WARPFOLD_SIMD_EXPORT_TYPE(std::int64_t, I64)
WARPFOLD_SIMD_EXPORT_TYPE(float, F32)
WARPFOLD_SIMD_EXPORT_TYPE(double, F64)
#undef WARPFOLD_SIMD_EXPORT_TYPE
#undef WARPFOLD_SIMD_EXPORT

HWY_EXPORT(TargetName);
const char* SimdTargetName() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace warpfold::cpu
#endif  // HWY_ONCE
