// What the sources of SIMD loops have in common: the widths that they are compiled for, and lists
// of the functions to make, because Highway dispatches functions and not templates. Include it
// before Highway.
#ifndef WARPFOLD_KERNELS_CPU_EACH_LOOP_H_
#define WARPFOLD_KERNELS_CPU_EACH_LOOP_H_

#include <cstdint>

#include "kernels/components.h"
#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"

// Processors have AVX2 since 2013; what lies between it and the baseline is not worth its code.
// SVE's vectors have no size, and the loops keep arrays of vectors: NEON, which every aarch64 has.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// do_one(T, name of T) for each.
#define WARPFOLD_FOR_EACH_WIDE_INTEGER(do_one)                                   \
  do_one(std::int32_t, I32) do_one(std::uint32_t, U32) do_one(std::int64_t, I64) \
      do_one(std::uint64_t, U64)
#define WARPFOLD_FOR_EACH_NARROW_INTEGER(do_one)                                                \
  do_one(Bool, Bool) do_one(std::int8_t, I8) do_one(std::uint8_t, U8) do_one(std::int16_t, I16) \
      do_one(std::uint16_t, U16)
#define WARPFOLD_FOR_EACH_INTEGER(do_one) \
  WARPFOLD_FOR_EACH_NARROW_INTEGER(do_one) WARPFOLD_FOR_EACH_WIDE_INTEGER(do_one)
#define WARPFOLD_FOR_EACH_FLOAT(do_one) \
  do_one(Half, F16) do_one(BFloat16, BF16) do_one(float, F32) do_one(double, F64)
// do_one(T, name of T, name of the component, component) for each; `of` is what applies its policy.
#define WARPFOLD_WITH_NAN(...) __VA_ARGS__
#define WARPFOLD_WITHOUT_NAN(...) OmitNan<__VA_ARGS__>
#define WARPFOLD_FOR_EACH_EXTREME(do_one, T, name, of)              \
  do_one(T, name, Min, of(Min<T>)) do_one(T, name, Max, of(Max<T>)) \
      do_one(T, name, ArgMin, of(ArgMin<T>)) do_one(T, name, ArgMax, of(ArgMax<T>))
#define WARPFOLD_FOR_EACH_COUNT(do_one, T, name, of)                                    \
  do_one(T, name, NanCount, of(NanCount<T>)) do_one(T, name, InfCount, of(InfCount<T>)) \
      do_one(T, name, NonzeroCount, of(NonzeroCount<T>))
#define WARPFOLD_FOR_EACH_SUM(do_one, T, name)                    \
  do_one(T, name, Sum, Sum<T>) do_one(T, name, AbsSum, AbsSum<T>) \
      do_one(T, name, Product, Product<T>)

// What follows calls WARPFOLD_LOOP, which the source defines: once to make the functions and once
// to export them.
//
// WARPFOLD_LOOP(T, name of T, omits NaN): of these integers and of floats.
#define WARPFOLD_LOOP_WITH_NAN(T, name) WARPFOLD_LOOP(T, name, false)
#define WARPFOLD_LOOP_WITHOUT_NAN(T, name) WARPFOLD_LOOP(T, name##OmitNan, true)
#define WARPFOLD_LOOPS_OF_ELEMENTS(for_each_integer)                                       \
  for_each_integer(WARPFOLD_LOOP_WITH_NAN) WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITH_NAN) \
      WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_LOOP_WITHOUT_NAN)

// WARPFOLD_LOOP(T, name of T, name of the component, component): of tiles, and of columns.
#define WARPFOLD_COUNTS_WITH_NAN(T, name) \
  WARPFOLD_FOR_EACH_COUNT(WARPFOLD_LOOP, T, name, WARPFOLD_WITH_NAN)
#define WARPFOLD_COUNTS_WITHOUT_NAN(T, name) \
  WARPFOLD_FOR_EACH_COUNT(WARPFOLD_LOOP, T, name##OmitNan, WARPFOLD_WITHOUT_NAN)
#define WARPFOLD_SUMS(T, name) WARPFOLD_FOR_EACH_SUM(WARPFOLD_LOOP, T, name)
#define WARPFOLD_SQUARES(T, name) WARPFOLD_LOOP(T, name, SquareSum, SquareSum<T>)
#define WARPFOLD_EXTREMES_WITH_NAN(T, name) \
  WARPFOLD_FOR_EACH_EXTREME(WARPFOLD_LOOP, T, name, WARPFOLD_WITH_NAN)
#define WARPFOLD_EXTREMES_WITHOUT_NAN(T, name) \
  WARPFOLD_FOR_EACH_EXTREME(WARPFOLD_LOOP, T, name##OmitNan, WARPFOLD_WITHOUT_NAN)
#define WARPFOLD_LOOPS_OF_TILES                       \
  WARPFOLD_FOR_EACH_INTEGER(WARPFOLD_SUMS)            \
  WARPFOLD_FOR_EACH_NARROW_INTEGER(WARPFOLD_SQUARES)  \
  WARPFOLD_FOR_EACH_INTEGER(WARPFOLD_COUNTS_WITH_NAN) \
  WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_COUNTS_WITH_NAN)   \
  WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_COUNTS_WITHOUT_NAN)
#define WARPFOLD_LOOPS_OF_COLUMNS                       \
  WARPFOLD_LOOPS_OF_TILES                               \
  WARPFOLD_FOR_EACH_INTEGER(WARPFOLD_EXTREMES_WITH_NAN) \
  WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_EXTREMES_WITH_NAN)   \
  WARPFOLD_FOR_EACH_FLOAT(WARPFOLD_EXTREMES_WITHOUT_NAN)

#endif  // WARPFOLD_KERNELS_CPU_EACH_LOOP_H_
