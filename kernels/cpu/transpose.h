// Rows made columns of, and columns rows, of elements of 2, 4 or 8 bytes.
#ifndef WARPFOLD_KERNELS_CPU_TRANSPOSE_H_
#define WARPFOLD_KERNELS_CPU_TRANSPOSE_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"

namespace warpfold::cpu {
namespace internal {

// A square of elements, a row of which is a vector that every processor has.
template <typename T>
struct Square {
  static constexpr int kSide = 16 / static_cast<int>(sizeof(T));
  using Bits = BitsOf<T>;
  typedef Bits Row __attribute__((vector_size(16)));

  // a[0], b[0], a[1], b[1] ... of the first halves, and of the second ones.
  static WARPFOLD_HD Row First(Row a, Row b) {
    if constexpr (kSide == 2) return __builtin_shufflevector(a, b, 0, 2);
    if constexpr (kSide == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
    if constexpr (kSide == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  static WARPFOLD_HD Row Second(Row a, Row b) {
    if constexpr (kSide == 2) return __builtin_shufflevector(a, b, 1, 3);
    if constexpr (kSide == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
    if constexpr (kSide == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }

  // Perfectly, of all elements.
  static WARPFOLD_HD void Shuffle(Row (&rows)[kSide]) {
    Row shuffled[kSide];
    for (int i = 0; i < kSide / 2; ++i) {
      shuffled[2 * i] = First(rows[i], rows[i + kSide / 2]);
      shuffled[2 * i + 1] = Second(rows[i], rows[i + kSide / 2]);
    }
    for (int i = 0; i < kSide; ++i) rows[i] = shuffled[i];
  }

  // log2(kSide) shuffles transpose a square.
  static WARPFOLD_HD void Transpose(const T* from, std::int64_t from_step, T* to,
                                    std::int64_t to_step) {
    Row rows[kSide];
    for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], from + i * from_step, sizeof(Row));
    Shuffle(rows);
    if constexpr (kSide > 2) Shuffle(rows);
    if constexpr (kSide > 4) Shuffle(rows);
    for (int i = 0; i < kSide; ++i) std::memcpy(to + i * to_step, &rows[i], sizeof(Row));
  }
};

}  // namespace internal

// A `to_step` of at least `rows` that is no multiple of a power of two, so that rows do not share
// the sets of a cache.
template <typename T>
constexpr std::int64_t TransposedStep(std::int64_t rows) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  return ((rows + kLine - 1) / kLine | 1) * kLine;
}

// to[c * to_step + r] = from[r * from_step + c] of `rows` rows and `columns` columns. 8 rows at a
// time, as many streams as the processor reads ahead: f32 in 128 columns took 0.13 ns an element,
// by one element at a time 0.29 (one core of an EPYC, Zen 4, 2026-11-26).
template <typename T>
void Transpose(const T* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns,
               T* to, std::int64_t to_step) {
  using Square = internal::Square<T>;
  constexpr int kSide = Square::kSide;
  constexpr int kAtOnce = 8;
  static_assert(kAtOnce % kSide == 0);
  std::int64_t row = 0;
  for (; row + kAtOnce <= rows; row += kAtOnce) {
    const T* const first = from + row * from_step;
    std::int64_t c = 0;
    for (; c + kSide <= columns; c += kSide) {
      for (int r = 0; r < kAtOnce; r += kSide) {
        Square::Transpose(first + r * from_step + c, from_step, to + c * to_step + row + r,
                          to_step);
      }
    }
    for (; c < columns; ++c) {
      for (int r = 0; r < kAtOnce; ++r) to[c * to_step + row + r] = first[r * from_step + c];
    }
  }
  for (; row < rows; ++row) {
    for (std::int64_t c = 0; c < columns; ++c) to[c * to_step + row] = from[row * from_step + c];
  }
}

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_TRANSPOSE_H_
