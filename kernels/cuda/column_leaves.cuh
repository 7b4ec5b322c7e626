// Leaves of columns, and how a thread folds several of them: what the first pass over columns
// reads.
#ifndef WARPFOLD_KERNELS_CUDA_COLUMN_LEAVES_CUH_
#define WARPFOLD_KERNELS_CUDA_COLUMN_LEAVES_CUH_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/pairwise.cuh"
#include "kernels/cuda/running.cuh"
#include "kernels/cuda/tile_passes.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

// Neighbouring columns of a thread: a 16-byte vector of them while what it keeps for them takes few
// registers, fewer for fusions of several components, but of sums of floats; of indices, for which
// it goes over one column after another, as many as a word holds; of many accumulators one.
template <class F>
inline constexpr int kColumnVector = [] {
  constexpr std::size_t kRunningBytesMax = exact::kIsBounded<F> ? 64 : 32;
  constexpr std::size_t kStateBytesMax = 64;
  constexpr std::size_t kElementBytes = sizeof(typename F::Storage);
  if (kHasManyAccumulators<F>) return 1;
  if (kIsComputeBound<F>) return kElementBytes < 4 ? 4 / static_cast<int>(kElementBytes) : 1;
  int columns = kVectorElements<typename F::Storage>;
  while (columns > 1 && (columns * sizeof(typename F::Acc) > kRunningBytesMax ||
                         columns * sizeof(typename F::State) > kStateBytesMax)) {
    columns /= 2;
  }
  return columns;
}();

// `count` rows of `inner` columns, of which kVector neighbours are folded at a time. NeededFold: F,
// or those of its components that anybody reads.
template <class F, class NeededFold, int kVectorWidth>
struct RowsOfColumns {
  using Fold = F;
  using Value = typename NeededFold::Acc;
  using T = typename F::Storage;
  static constexpr bool kReadsStates = false;
  static constexpr int kVector = kVectorWidth;
  static constexpr int kRows = kLeafRows;          // of a leaf
  static constexpr int kSharedBytesPerThread = 0;  // beside what the kernel declares

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
  __device__ ElementIndexing IndexingOf(std::int64_t leaf, int v) const {
    return {.first = first + leaf * kRows * inner + v, .step = inner};
  }
  __device__ static Value Identity() { return NeededFold::Identity(); }
  __device__ static Value Combine(const Value& a, const Value& b) {
    return NeededFold::Combine(a, b);
  }
  // Of `leaves` leaves.
  __device__ typename F::State Promote(const Value& value, std::int64_t leaf, int leaves,
                                       int v) const {
    return F::Promote(AccOf<F, NeededFold>(value), IndexingOf(leaf, v), leaves * kRows);
  }
  // The rows of `leaves` leaves from `leaf` on.
  __device__ int RowsOfLeaves(std::int64_t leaf, int leaves) const {
    return static_cast<int>(
        min(max(count - leaf * kRows, std::int64_t{0}), static_cast<std::int64_t>(leaves) * kRows));
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

  __device__ __forceinline__ static ThreadColumns Identity() {
    ThreadColumns columns;
#pragma unroll
    for (auto& value : columns.of) value = Leaves::Identity();
    return columns;
  }
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

// Few accumulators: all columns of a thread side by side, in one pass.
template <class F, int kVectorWidth>
struct ColumnLeaves : RowsOfColumns<F, F, kVectorWidth> {
  using Rows = RowsOfColumns<F, F, kVectorWidth>;
  using Rows::data, Rows::inner, Rows::kRows, Rows::kVector, Rows::Load;
  using typename Rows::T, typename Rows::Value, typename Rows::Vector;
  static constexpr int kThreadsMax = kColumnThreads;
  static constexpr int kBlocksPerSm = 3;

  // `leaves` neighbouring leaves from `leaf` on, those of them that there are.
  __device__ __forceinline__ void FoldLeaves(std::int64_t leaf, int leaves,
                                             Value (&out)[kVector]) const {
    const int rows = Rows::RowsOfLeaves(leaf, leaves);
    const T* next = data + leaf * kRows * inner;
    typename Running::Value running[kVector];
#pragma unroll
    for (auto& value : running) value = Running::Identity();
    int row = 0;
#pragma unroll 1
    for (; row + kRowsAtOnce <= rows; row += kRowsAtOnce) {
      AddWhole(next, row, running);
      next += kRowsAtOnce * inner;
    }
#pragma unroll 1
    for (; row < rows; row += kRows) {
      AddEnd(next, rows - row, row, running);
      next += kRows * inner;
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) out[v] = Finalized<F, Running>(running[v], WithinThread{});
  }

 private:
  // One pass is all that few accumulators without indices take.
  using Running = RunningFold<F, /*kByWarp=*/false>;
  static_assert(!F::kSkipsCounts && !kHasIndices<F>);
  static constexpr bool kPacksRows = kIsPackable<T> && kVector % 4 == 0;
  // Rows that a thread loads before it adds any: as many bytes of narrow elements in flight as
  // of wide ones.
  static constexpr int kRowsAtOnce = kRows * (sizeof(Vector) > 4 ? 16 / sizeof(Vector) : 4);

  __device__ __forceinline__ void AddWhole(const T* rows, int number,
                                           typename Running::Value (&to)[kVector]) const {
    Vector loaded[kRowsAtOnce];
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r) loaded[r] = Load(rows, r);
    if constexpr (kPacksRows) {
      // Of each column, four rows a word.
      std::uint32_t packed[kRowsAtOnce / 4][kVector];
#pragma unroll
      for (int r = 0; r < kRowsAtOnce; ++r) {
        memcpy(&packed[r / 4][r % 4 * (kVector / 4)], &loaded[r], sizeof(Vector));
      }
#pragma unroll
      for (auto& words : packed) TransposeBytes(words);
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
#pragma unroll
        for (int r = 0; r < kRowsAtOnce; r += 4) {
          Running::Add(to[v], Packed<T>{packed[r / 4][v]}, number + r);
        }
      }
    } else {
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
#pragma unroll
        for (int r = 0; r < kRowsAtOnce; ++r) Running::Add(to[v], Lift(loaded[r].x[v]), number + r);
      }
    }
  }
  // A leaf, of which there are rows_left rows or all.
  __device__ __forceinline__ void AddEnd(const T* rows, int rows_left, int number,
                                         typename Running::Value (&to)[kVector]) const {
    Vector loaded[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows_left) loaded[r] = Load(rows, r);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= rows_left) continue;
#pragma unroll
      for (int v = 0; v < kVector; ++v) Running::Add(to[v], Lift(loaded[r].x[v]), number + r);
    }
  }
};

// The same of long folds, one of a thread's columns after another.
template <class F, class NeededFold, int kVectorWidth>
struct LongColumnLeaves : RowsOfColumns<F, NeededFold, kVectorWidth> {
  using Rows = RowsOfColumns<F, NeededFold, kVectorWidth>;
  using Rows::Combine;
  using Rows::count, Rows::data, Rows::inner, Rows::kRows, Rows::kVector, Rows::Load;
  using typename Rows::T, typename Rows::Value, typename Rows::Vector;
  // 80 registers a thread: the nine statistics of 2^25 f64 in 2^15 columns took 282 us with 64, 203
  // with 80 and 224 with 128 (H100, 2026-11-27).
  static constexpr int kThreadsMax = kColumnThreads;
  static constexpr int kBlocksPerSm = 3;

  // `leaves` neighbouring leaves from `leaf` on, kStraightLeaves at a time.
  __device__ __forceinline__ void FoldLeaves(std::int64_t leaf, int leaves,
                                             Value (&out)[kVector]) const {
#pragma unroll
    for (Value& value : out) value = Rows::Identity();
#pragma unroll 1
    for (int i = 0; i < leaves;) {
      const std::int64_t left = count - (leaf + i) * kRows;
      if (leaves - i >= kStraightLeaves && left >= kStraightLeaves * kRows) {
        AddWhole<kStraightLeaves>(leaf + i, i, out);
        i += kStraightLeaves;
        continue;
      }
      if (left >= kRows) {
        AddWhole<1>(leaf + i, i, out);
      } else {
        AddEnd(leaf + i, i, out);
      }
      ++i;
    }
  }

 private:
  // As many as the registers hold that 24 warps an SM leave.
  static constexpr int kStraightLeaves = sizeof(Vector) <= 4 ? 4 : 2;

  // Of column v, in a loop over columns: that is no constant, so a word is shifted.
  __device__ __forceinline__ static T ElementOf(const Vector& vector, int v) {
    if constexpr (kVector > 1) {
      const auto word = BitCast<std::uint32_t>(vector);
      return BitCast<T>(static_cast<BitsOf<T>>(word >> (v * 8 * static_cast<int>(sizeof(T)))));
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

  // Column v of kCount rows, the first of which is number `number`.
  template <int kCount>
  __device__ __forceinline__ static Value FoldColumn(const Vector* rows, int v, int number) {
    const auto tile_pass = [&](auto, auto value, const auto& add, const auto&) {
      if constexpr (kTakesPacked<T, decltype(value), std::remove_cvref_t<decltype(add)>>) {
#pragma unroll
        for (int r = 0; r < kCount; r += 4) add(value, PackedOf(rows + r, v), number + r);
      } else {
#pragma unroll
        for (int r = 0; r < kCount; ++r) add(value, Lift(ElementOf(rows[r], v)), number + r);
      }
      return value;
    };
    return FoldTilePasses<NeededFold>(kCount, tile_pass, WithinThread{});
  }

  // `kLeaves` whole leaves from `leaf` on, number i and following of the thread's.
  template <int kLeaves>
  __device__ __forceinline__ void AddWhole(std::int64_t leaf, int i, Value (&to)[kVector]) const {
    const T* const rows = data + leaf * kRows * inner;
    constexpr int kCount = kLeaves * kRows;
    Vector loaded[kCount];
#pragma unroll
    for (int r = 0; r < kCount; ++r) loaded[r] = Load(rows, r);
#pragma unroll 1
    for (int v = 0; v < kVector; ++v) {
      to[v] = Combine(to[v], FoldColumn<kCount>(loaded, v, i * kRows));
    }
  }

  // The leaf that has the end of the columns in it, or is past it; in loops, as it is one of many.
  __device__ __forceinline__ void AddEnd(std::int64_t leaf, int i, Value (&to)[kVector]) const {
    const T* const rows = data + leaf * kRows * inner;
    const int left = static_cast<int>(max(count - leaf * kRows, std::int64_t{0}));
    if (left == 0) return;
#pragma unroll 1
    for (int v = 0; v < kVector; ++v) {
      const auto tile_pass = [&](auto, auto value, const auto& add, const auto&) {
#pragma unroll 1
        for (int r = 0; r < left; ++r) {
          add(value, Lift(ElementOf(Load(rows, r), v)), i * kRows + r);
        }
        return value;
      };
      to[v] = Combine(to[v], FoldTilePasses<NeededFold>(left, tile_pass, WithinThread{}));
    }
  }
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_COLUMN_LEAVES_CUH_
