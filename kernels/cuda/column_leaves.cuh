// Leaves of columns, and how a thread folds several of them: what the first pass over columns
// reads.
#ifndef WARPFOLD_KERNELS_CUDA_COLUMN_LEAVES_CUH_
#define WARPFOLD_KERNELS_CUDA_COLUMN_LEAVES_CUH_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/canonical.h"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/pairs.cuh"
#include "kernels/cuda/sweeps.cuh"

namespace warpfold::cuda {

// Neighbouring columns of a thread: a 16-byte vector of them while what it keeps for them takes few
// registers, fewer for fusions of several components; of indices, for which it goes over one column
// after another, as many as a word holds; of heavy folds one.
template <class F>
inline constexpr int kColumnVector = [] {
  constexpr std::size_t kRunningBytesMax = 32;
  constexpr std::size_t kStateBytesMax = 64;
  constexpr std::size_t kElementBytes = sizeof(typename F::Element);
  if (kIsHeavy<F>) return 1;
  if (kIsLong<F>) return kElementBytes < 4 ? 4 / static_cast<int>(kElementBytes) : 1;
  int columns = kVectorElements<typename F::Element>;
  while (columns > 1 && (columns * sizeof(typename F::Acc) > kRunningBytesMax ||
                         columns * sizeof(typename F::State) > kStateBytesMax)) {
    columns /= 2;
  }
  return columns;
}();

// `count` rows of `inner` columns, of which kVector neighbours are folded at a time. Swept: F, or
// those of its components that anybody reads.
template <class F, class Swept, int kVectorWidth>
struct RowsOfColumns {
  using Fold = F;
  using Value = typename Swept::Acc;
  using T = typename F::Element;
  static constexpr bool kReadsStates = false;
  static constexpr int kVector = kVectorWidth;
  static constexpr int kRows = kLeafRows;  // of a leaf
  static constexpr int kSharedBytesPerThread = 0;

  struct alignas(sizeof(T) * kVector) Vector {
    T x[kVector];
  };

  const T* data;  // the first of the columns, at count 0
  std::int64_t count;
  std::int64_t inner;
  std::int64_t first;  // the linear offset of data[0]

  __device__ void Advance(std::int64_t elements) {
    data += elements;
    first += elements;
  }
  // Of column v, from leaf `leaf` on.
  __device__ Place PlaceOf(std::int64_t leaf, int v) const {
    return {.first = first + leaf * kRows * inner + v, .step = inner};
  }
  __device__ static Value Identity() { return Swept::Identity(); }
  __device__ static Value Combine(const Value& a, const Value& b) { return Swept::Combine(a, b); }
  __device__ typename F::State Promote(const Value& value, std::int64_t leaf, int v) const {
    return F::Promote(AccOf<F, Swept>(value), PlaceOf(leaf, v));
  }
  // Row `row` from `rows` on.
  __device__ __forceinline__ Vector Load(const T* rows, int row) const {
    return *reinterpret_cast<const Vector*>(rows + row * inner);
  }
};

// Columns of a thread, and their values.
template <class Leaves>
struct ThreadColumns {
  typename Leaves::Value of[Leaves::kVector];

  __device__ __forceinline__ static ThreadColumns Combine(const ThreadColumns& left,
                                                          const ThreadColumns& right) {
    ThreadColumns columns;
#pragma unroll
    for (int v = 0; v < Leaves::kVector; ++v) {
      columns.of[v] = Leaves::Fold::Combine(left.of[v], right.of[v]);
    }
    return columns;
  }
};

// Leaves of columns: kLeafRows elements in order, for kVector neighbouring columns at a time. Light
// folds.
template <class F, int kVectorWidth>
struct ColumnLeaves : RowsOfColumns<F, F, kVectorWidth> {
  using Rows = RowsOfColumns<F, F, kVectorWidth>;
  using Rows::Combine, Rows::Identity;
  using Rows::count, Rows::data, Rows::inner, Rows::kRows, Rows::kVector, Rows::Load;
  using typename Rows::T, typename Rows::Value, typename Rows::Vector;
  // Whether a thread folds its leaves in a loop: one kernel then serves any number of them.
  static constexpr bool kLoops = false;

  // Leaves that a thread loads before it adds any: as many bytes of narrow elements on their way as
  // of wide ones.
  static constexpr int kLeavesAtOnce = sizeof(Vector) > 4 ? 16 / sizeof(Vector) : 4;

  // kCount neighbouring leaves from `leaf` on, the first of whose elements is number `number`. Past
  // the end, the identity.
  template <int kCount>
  __device__ __forceinline__ void FoldLeaves(std::int64_t leaf, int number,
                                             Value (&out)[kVector]) const {
    const std::int64_t first_row = leaf * kRows;
    const T* rows = data + first_row * inner;
    if constexpr (kCount > 1) {
      if (count - first_row >= kCount * kRows) {
        FoldWhole<kCount>(rows, number, out);
      } else {
        FoldOneByOne<kCount>(leaf, number, out);
      }
    } else if (count - first_row >= kRows) {
      FoldRows<true>(rows, kRows, number, out);
    } else if (count > first_row) {
      FoldRows<false>(rows, static_cast<int>(count - first_row), number, out);
    } else {
#pragma unroll
      for (Value& value : out) value = Identity();
    }
  }

 private:
  static constexpr bool kPacksRows = sizeof(T) == 1 && kVector % 4 == 0;

  // Of one leaf. kWhole: `rows_left` is kRows.
  template <bool kWhole>
  __device__ __forceinline__ void FoldRows(const T* rows, int rows_left, int number,
                                           Value (&out)[kVector]) const {
    // A type of its own: nvcc 13.0 merges loads of one type for both kWhole, and keeps fewer on
    // their way (of f64 72 registers instead of 96).
    struct alignas(sizeof(T) * kVector) Row {
      T x[kVector];
    };
    Row loaded[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (kWhole || r < rows_left) loaded[r] = *reinterpret_cast<const Row*>(rows + r * inner);
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const auto sweep = [&](auto, auto value, const auto& add, const auto&) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (kWhole || r < rows_left) add(value, loaded[r].x[v], number + r);
        }
        return value;
      };
      out[v] = FoldSweeps<F>(rows_left, sweep, WithinThread{});
    }
  }

  // Of whole leaves.
  template <int kCount>
  __device__ __forceinline__ void FoldWhole(const T* rows, int number,
                                            Value (&out)[kVector]) const {
    Vector loaded[kCount * kRows];
#pragma unroll
    for (int r = 0; r < kCount * kRows; ++r) loaded[r] = Load(rows, r);
    // Of each column, four rows a word.
    std::uint32_t packed[kPacksRows ? kCount * kRows / 4 : 1][kVector];
    if constexpr (kPacksRows) {
#pragma unroll
      for (int r = 0; r < kCount * kRows; ++r) {
        memcpy(&packed[r / 4][r % 4 * (kVector / 4)], &loaded[r], sizeof(Vector));
      }
#pragma unroll
      for (auto& words : packed) TransposeBytes(words);
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const auto leaf = [&](std::int64_t index) {
        const int first = static_cast<int>(index) * kRows;
        const auto sweep = [&](auto, auto value, const auto& add, const auto&) {
          if constexpr (kPacksRows) {
#pragma unroll
            for (int r = first; r < first + kRows; r += 4) {
              add(value, Packed<T>{packed[r / 4][v]}, number + r);
            }
          } else {
#pragma unroll
            for (int r = first; r < first + kRows; ++r) add(value, loaded[r].x[v], number + r);
          }
          return value;
        };
        return FoldSweeps<F>(kRows, sweep, WithinThread{});
      };
      out[v] = FoldPairs<kCount, Value>(0, leaf, Combine);
    }
  }

  // Of leaves that have the end of the columns among them; in a loop, as they are few of many.
  template <int kCount>
  __device__ __forceinline__ void FoldOneByOne(std::int64_t leaf, int number,
                                               Value (&out)[kVector]) const {
    PairStack<Value, kCount> stacks[kVector];
#pragma unroll 1
    for (int i = 0; i < kCount; ++i) {
      Value values[kVector];
      FoldLeaves<1>(leaf + i, number + i * kRows, values);
#pragma unroll
      for (int v = 0; v < kVector; ++v) stacks[v].template Push<1>(i, values[v], Combine);
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) out[v] = stacks[v].Top(kCount);
  }
};

// The same of long folds, one of a thread's columns after another.
template <class F, class Swept, int kVectorWidth>
struct LongColumnLeaves : RowsOfColumns<F, Swept, kVectorWidth> {
  using Rows = RowsOfColumns<F, Swept, kVectorWidth>;
  using Rows::Combine;
  using Rows::count, Rows::data, Rows::inner, Rows::kRows, Rows::kVector, Rows::Load;
  using typename Rows::T, typename Rows::Value, typename Rows::Vector;
  static constexpr bool kLoops = true;

  // `leaves` neighbouring leaves from `leaf` on, a power of two up to kLeavesMax, in a loop over
  // kStraightLeaves at a time.
  template <int kLeavesMax>
  __device__ __forceinline__ void FoldInLoop(std::int64_t leaf, int leaves,
                                             Value (&out)[kVector]) const {
    PairStack<Value, kLeavesMax> stacks[kVector];
#pragma unroll 1
    for (int i = 0; i < leaves;) {
      const std::int64_t left = count - (leaf + i) * kRows;
      if constexpr (kLeavesMax >= kStraightLeaves) {
        if (leaves - i >= kStraightLeaves && left >= kStraightLeaves * kRows) {
          PushWhole<kStraightLeaves>(leaf + i, i, stacks);
          i += kStraightLeaves;
          continue;
        }
      }
      if (left >= kRows) {
        PushWhole<1>(leaf + i, i, stacks);
      } else {
        PushEnd(leaf + i, i, stacks);
      }
      ++i;
    }
#pragma unroll 1
    for (int v = 0; v < kVector; ++v) out[v] = stacks[v].Top(leaves);
  }

 private:
  // As many as the registers hold that 24 warps an SM leave.
  static constexpr int kStraightLeaves = sizeof(Vector) <= 4 ? 4 : 2;

  // Of column v, in a loop over columns: that is no constant, so a word is shifted.
  __device__ __forceinline__ static T ElementOf(const Vector& vector, int v) {
    if constexpr (kVector > 1) {
      using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      const auto word = BitCast<std::uint32_t>(vector);
      return BitCast<T>(static_cast<Bits>(word >> (v * 8 * static_cast<int>(sizeof(T)))));
    } else {
      return vector.x[v];
    }
  }
  // The bytes of column v in four rows.
  __device__ __forceinline__ static Packed<T> PackedOf(const Vector* rows, int v) {
    std::uint32_t words[4] = {};
#pragma unroll
    for (int r = 0; r < 4; ++r) memcpy(&words[r], &rows[r], sizeof(Vector));
    const unsigned of_both = static_cast<unsigned>(v | (v + 4) << 4);
    return {__byte_perm(__byte_perm(words[0], words[1], of_both),
                        __byte_perm(words[2], words[3], of_both), 0x5410)};
  }

  // Column v of the whole leaf whose rows are `rows`.
  __device__ __forceinline__ static Value FoldColumn(const Vector* rows, int v, int number) {
    const auto sweep = [&](auto, auto value, const auto& add, const auto&) {
      if constexpr (kTakesPacked<T, decltype(value), std::remove_cvref_t<decltype(add)>>) {
#pragma unroll
        for (int r = 0; r < Rows::kRows; r += 4) add(value, PackedOf(rows + r, v), number + r);
      } else {
#pragma unroll
        for (int r = 0; r < Rows::kRows; ++r) add(value, ElementOf(rows[r], v), number + r);
      }
      return value;
    };
    return FoldSweeps<Swept>(kRows, sweep, WithinThread{});
  }

  // `kLeaves` whole leaves from `leaf` on, number i and following of the thread's.
  template <int kLeaves, int kLeavesMax>
  __device__ __forceinline__ void PushWhole(std::int64_t leaf, int i,
                                            PairStack<Value, kLeavesMax> (&stacks)[kVector]) const {
    const T* const rows = data + leaf * kRows * inner;
    Vector loaded[kLeaves * kRows];
#pragma unroll
    for (int r = 0; r < kLeaves * kRows; ++r) loaded[r] = Load(rows, r);
#pragma unroll 1
    for (int v = 0; v < kVector; ++v) {
      const auto fold = [&](std::int64_t l) {
        const int first = static_cast<int>(l) * kRows;
        return FoldColumn(loaded + first, v, i * kRows + first);
      };
      stacks[v].template Push<kLeaves>(i, FoldPairs<kLeaves, Value>(0, fold, Combine), Combine);
    }
  }

  // The leaf that has the end of the columns in it, or is past it; in loops, as it is one of many.
  template <int kLeavesMax>
  __device__ __forceinline__ void PushEnd(std::int64_t leaf, int i,
                                          PairStack<Value, kLeavesMax> (&stacks)[kVector]) const {
    const T* const rows = data + leaf * kRows * inner;
    const int left = static_cast<int>(max(count - leaf * kRows, std::int64_t{0}));
#pragma unroll 1
    for (int v = 0; v < kVector; ++v) {
      const auto sweep = [&](auto, auto value, const auto& add, const auto&) {
#pragma unroll 1
        for (int r = 0; r < left; ++r) {
          add(value, ElementOf(Load(rows, r), v), i * kRows + r);
        }
        return value;
      };
      const Value value =
          left == 0 ? Swept::Identity() : FoldSweeps<Swept>(left, sweep, WithinThread{});
      stacks[v].template Push<1>(i, value, Combine);
    }
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_COLUMN_LEAVES_CUH_
