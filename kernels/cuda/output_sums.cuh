// The kernels of output_sums.h: a row, or a part of one, is a warp's or, where rows are short or
// lie side by side, a lane's.
#ifndef WARPFOLD_KERNELS_CUDA_OUTPUT_SUMS_CUH_
#define WARPFOLD_KERNELS_CUDA_OUTPUT_SUMS_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/finite_rows.cuh"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/lane_bins.cuh"
#include "kernels/cuda/lane_digits.cuh"
#include "kernels/cuda/output_sums.h"
#include "kernels/cuda/warp.cuh"
#include "kernels/dtypes/element.h"
#include "kernels/exact/results.h"
#include "kernels/exact/state.h"
#include "kernels/exact/sums.h"
#include "kernels/ops/catalogue.h"
#include "kernels/tiles.h"

namespace warpfold::cuda {

using exact::OutputSums;

// Which rows a launch adds, in chunks of which each is one warp's, or one lane's, at a time.
struct RowsToAdd {
  Extent extent;
  OutputRows output_rows;
  std::int64_t first_row = 0;
  bool is_by_output = false;  // all rows of `outputs`; else those of `extent`
  Outputs outputs;            // else from first on, whose sums are there
  bool omits_nan = false;
  std::int64_t rows = 0;
  std::int64_t chunks_per_row = 1;
  std::int64_t chunk_elements = 1;

  // Cuts rows so that `lanes` have something to do, row_lanes of them a chunk. LaneDigits<BFloat16>
  // takes no more than the most.
  static constexpr std::int64_t kLaneElementsMin = 64;
  static constexpr std::int64_t kLaneElementsMax = 1 << 16;
  WARPFOLD_HD void Cut(std::int64_t lanes, int row_lanes) {
    const std::int64_t even = (extent.count * rows + lanes - 1) / lanes;
    const std::int64_t at_least = even < kLaneElementsMin ? kLaneElementsMin : even;
    chunk_elements = (at_least < kLaneElementsMax ? at_least : kLaneElementsMax) * row_lanes;
    chunks_per_row = (extent.count + chunk_elements - 1) / chunk_elements;
  }

  struct Location {
    std::int64_t offset;  // of the row's first element
    std::int64_t sums;    // the number of its output's
  };
  // Of the i-th row that is added.
  __device__ Location LocationOf(std::int64_t i) const {
    std::int64_t row = i;
    std::int64_t sums = 0;
    if (is_by_output) {
      const std::int64_t parts = output_rows.rows_per_output();
      sums = i / parts;
      row = output_rows.RowOf(outputs.NumberOf(sums), i % parts);
    } else {
      sums = output_rows.OutputOf(first_row + i) - outputs.first;
    }
    return {row / extent.inner * extent.count * extent.inner + row % extent.inner, sums};
  }
};

// What a lane meets beside finite elements.
struct LaneSpecials {
  std::uint32_t flags = 0;  // exact::Specials
  std::int64_t omitted = 0;

  // False if x is not to be added.
  template <typename T>
  __device__ __forceinline__ bool Add(T x, bool omits_nan) {
    if (IsNan(x)) {
      flags |= omits_nan ? 0 : exact::kHasNan;
      omitted += omits_nan ? 1 : 0;
      return false;
    }
    if (!IsNegativeZero(x)) flags |= exact::kHasOtherThanNegativeZero;
    if (!IsInf(x)) return true;
    flags |= Widen(x) < 0 ? exact::kHasNegativeInfinity : exact::kHasPositiveInfinity;
    return false;
  }
};

// The words of a warp: those of the elements, or of the positive and of the others, and then those
// of their squares.
template <typename T, exact::Sums kSums>
inline constexpr int kBinBytes =
    kSums == exact::Sums::kSum
        ? std::max(LaneBins<exact::DigitLayout<Lifted<T>, 1>>::kWarpBytes,
                   LaneDigitsBytes<Lifted<T>>())
        : std::max(2 * LaneBins<exact::DigitLayout<Lifted<T>, 1>>::kWarpBytes,
                   LaneBins<exact::DigitLayout<Lifted<T>, 2>>::kWarpBytes);
// As many as fit in what a block may have without asking, up to 8.
template <typename T, exact::Sums kSums>
inline constexpr int kBinWarps = std::clamp((48 << 10) / kBinBytes<T, kSums>, 1, 8);

template <typename T, exact::Sums kSums>
__device__ __forceinline__ void ClearWords(std::int64_t* words, int lane) {
  constexpr int kWords = kBinBytes<T, kSums> / static_cast<int>(sizeof(std::int64_t));
#pragma unroll 1
  for (int w = lane; w < kWords; w += kLanes) words[w] = 0;
  __syncwarp();
}

// Adds a row's elements to its sums. Warp-wide; a lane without a row has begin == end. The words
// are zeros and are left so, but for rows that AddFiniteRow tries first.
template <typename T, exact::Sums kSums, int kRowLanes>
__device__ __forceinline__ void AddRow(const T* row, std::int64_t stride, std::int64_t begin,
                                       std::int64_t end, bool omits_nan, std::int64_t* words,
                                       OutputSums<Lifted<T>, kSums>* to) {
  using Bins = LaneBins<exact::DigitLayout<Lifted<T>, 1>>;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const Bins bins(words, lane);
  LaneSpecials specials;
  if constexpr (kSums == exact::Sums::kSum) {
    if constexpr (kRowLanes == kLanes && kHasLaneDigits<T>) {
      if (AddFiniteRow(row, stride, begin, end, words, to)) return;
      __syncwarp();
      ClearWords<T, kSums>(words, lane);
    }
    VisitRow<kRowLanes>(row, stride, begin, end, [&](auto x) {
      if (specials.Add(x, omits_nan)) bins.Add(exact::PartsOf(x));
    });
    __syncwarp();
    MoveTo<kRowLanes>(&to->sums.sum, bins);
  } else {
    const Bins negative(words + Bins::kWords * kLanes, lane);
    VisitRow<kRowLanes>(row, stride, begin, end, [&](auto x) {
      if (!specials.Add(x, omits_nan)) return;
      exact::ElementParts parts = exact::PartsOf(x);
      const bool is_negative = parts.mantissa < 0;
      if (is_negative) parts.mantissa = -parts.mantissa;
      (is_negative ? negative : bins).Add(parts);
    });
    __syncwarp();
    MoveTo<kRowLanes>(&to->sums.sum, &to->sums.absolute_sum, bins, negative);
    const LaneBins<exact::DigitLayout<Lifted<T>, 2>> squares(words, lane);
    VisitRow<kRowLanes>(row, stride, begin, end, [&](auto x) {
      if (!IsNan(x) && !IsInf(x)) squares.AddSquare(exact::PartsOf(x));
    });
    __syncwarp();
    MoveTo<kRowLanes>(&to->sums.squares, squares);
  }
  if constexpr (kRowLanes > 1) {
    specials.flags = OrOverWarp(specials.flags);
    specials.omitted = AddOverRow<kRowLanes>(specials.omitted);
    if (lane != 0) return;
  }
  if (specials.flags != 0) atomicOr(&to->sums.specials, specials.flags);
  if (specials.omitted != 0) AtomicallyAdd(&to->omitted, specials.omitted);
}

// kRowLanes: 32 where a row's chunk is a warp's, 1 where it is a lane's.
template <typename T, exact::Sums kSums, int kRowLanes>
__global__ void __launch_bounds__(kBinWarps<T, kSums>* kLanes)
    AddRowsKernel(const T* __restrict__ data, const __grid_constant__ RowsToAdd work,
                  OutputSums<Lifted<T>, kSums>* sums) {
  constexpr int kWarps = kBinWarps<T, kSums>;
  constexpr int kRowsAtATime = kLanes / kRowLanes;
  const int warp = static_cast<int>(threadIdx.x) / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  std::int64_t* const words = reinterpret_cast<std::int64_t*>(DynamicSharedMemory()) +
                              warp * (kBinBytes<T, kSums> / static_cast<int>(sizeof(std::int64_t)));
  ClearWords<T, kSums>(words, lane);
  const std::int64_t groups = (work.rows + kRowsAtATime - 1) / kRowsAtATime;
  const std::int64_t warps = std::int64_t{gridDim.x} * kWarps;
#pragma unroll 1
  for (std::int64_t i = std::int64_t{blockIdx.x} * kWarps + warp; i < groups * work.chunks_per_row;
       i += warps) {
    // Neighbouring warps have different rows, so that few add to the same words at once.
    const std::int64_t number = i % groups * kRowsAtATime + lane / kRowLanes;
    const bool has_row = number < work.rows;
    const RowsToAdd::Location location = work.LocationOf(has_row ? number : 0);
    const std::int64_t begin = i / groups * work.chunk_elements;
    const std::int64_t end =
        has_row ? min(begin + work.chunk_elements, work.extent.count) : std::int64_t{0};
    AddRow<T, kSums, kRowLanes>(data + location.offset, work.extent.inner,
                                begin + (kRowLanes > 1 ? lane : 0), end, work.omits_nan, words,
                                sums + location.sums);
  }
}

// Writes those of an output's results that its sums give, of ops first_op, first_op + stride, ...
// Out of line: several kernels end in it.
template <typename T, exact::Sums kSums>
__device__ __noinline__ void FinishOutput(const OutputSums<Lifted<T>, kSums>& sums,
                                          std::int64_t output, bool omits_nan,
                                          const ResultTargets& targets, int first_op, int stride) {
  exact::SumsState<Lifted<T>, kSums> state = sums.sums;
  exact::Normalize(state);
  const std::int64_t count = targets.reduced_count - sums.omitted;
#pragma unroll 1
  for (int op = first_op; op < targets.count; op += stride) {
    const Statistic statistic = StatisticOf<T>(targets.ops[op]);
    if (!IsOfSums(statistic)) continue;
    if (kSums == exact::Sums::kSum && !IsOfSumAlone(statistic)) continue;
    using R = FloatOf<T>;
    static_cast<R*>(targets.arrays[op])[output] =
        exact::Finish<R>(statistic, state, count, {targets.correction, omits_nan});
  }
}

inline constexpr int kFinishThreads = 128;

template <typename T, exact::Sums kSums>
__global__ void __launch_bounds__(kFinishThreads)
    FinishSumsKernel(const OutputSums<Lifted<T>, kSums>* sums, const Outputs outputs,
                     bool omits_nan, const __grid_constant__ ResultTargets targets) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kFinishThreads + threadIdx.x;
  if (i >= outputs.count) return;
  FinishOutput<T, kSums>(sums[i], outputs.NumberOf(i), omits_nan, targets, 0, 1);
}

// Calls `visitor` with the job's sums as a constant.
template <class Visitor>
auto VisitSums(const SumsJob& job, const Visitor& visitor) {
  if (job.sums == exact::Sums::kSum) {
    return visitor.template operator()<exact::Sums::kSum>();
  }
  return visitor.template operator()<exact::Sums::kStatistics>();
}

static_assert(LaneDigits<BFloat16, kLanes>::kElementsMax >= RowsToAdd::kLaneElementsMax &&
              LaneDigits<float, kLanes>::kElementsMax >= RowsToAdd::kLaneElementsMax);

// Rows of so many elements have something for each lane of a warp.
inline constexpr std::int64_t kWarpRow = 64;
// As many warps as a GPU holds.
template <typename T, exact::Sums kSums>
std::int64_t WarpsOf(const DeviceShape& device) {
  constexpr int kBlocksPerSm = 4;
  return std::int64_t{device.sm_count} * kBlocksPerSm * kBinWarps<T, kSums>;
}

// A row's lanes are a warp where it is long enough; but rows that lie side by side, and are all to
// be added, are read together.
template <typename T>
cudaError_t LaunchAddRows(const SumsJob& job, const void* d_data, RowsToAdd work, void* d_sums,
                          cudaStream_t stream) {
  const bool are_neighbours = work.extent.inner > 1 && work.outputs.d_numbers == nullptr;
  const bool is_by_warp = work.extent.count >= kWarpRow && !are_neighbours;
  const int row_lanes = is_by_warp ? kLanes : 1;
  return VisitSums(job, [&]<exact::Sums kSums>() {
    constexpr int kWarps = kBinWarps<T, kSums>;
    const std::int64_t warps = WarpsOf<T, kSums>(job.device);
    work.Cut(warps * kLanes, row_lanes);
    const std::int64_t groups = CeilDiv(work.rows * row_lanes, kLanes) * work.chunks_per_row;
    const PassLaunch launch{
        .blocks = static_cast<unsigned>(std::min(CeilDiv(groups, kWarps), warps / kWarps)),
        .threads = kWarps * kLanes,
        .shared_bytes = kBinBytes<T, kSums> * kWarps};
    const T* const data = static_cast<const T*>(d_data);
    auto* const sums = static_cast<OutputSums<Lifted<T>, kSums>*>(d_sums);
    return is_by_warp
               ? LaunchPass(AddRowsKernel<T, kSums, kLanes>, launch, stream, data, work, sums)
               : LaunchPass(AddRowsKernel<T, kSums, 1>, launch, stream, data, work, sums);
  });
}

template <typename T>
std::size_t OutputSumsOf<T>::Bytes(const SumsJob& job) {
  return job.sums == exact::Sums::kSum ? sizeof(OutputSums<Lifted<T>, exact::Sums::kSum>)
                                       : sizeof(OutputSums<Lifted<T>, exact::Sums::kStatistics>);
}

template <typename T>
cudaError_t OutputSumsOf<T>::AddRows(const SumsJob& job, const RowsAt& rows,
                                     const OutputRows& output_rows, std::int64_t first_output,
                                     void* d_sums, cudaStream_t stream) {
  return LaunchAddRows<T>(job, rows.d_data,
                          {.extent = rows.extent,
                           .output_rows = output_rows,
                           .first_row = rows.first_row,
                           .outputs = {.first = first_output},
                           .omits_nan = job.omits_nan,
                           .rows = rows.extent.outputs()},
                          d_sums, stream);
}

template <typename T>
cudaError_t OutputSumsOf<T>::AddOutputs(const SumsJob& job, const RowsAt& tensor,
                                        const OutputRows& output_rows, const Outputs& outputs,
                                        void* d_sums, cudaStream_t stream) {
  return LaunchAddRows<T>(job, tensor.d_data,
                          {.extent = tensor.extent,
                           .output_rows = output_rows,
                           .is_by_output = true,
                           .outputs = outputs,
                           .omits_nan = job.omits_nan,
                           .rows = outputs.count * output_rows.rows_per_output()},
                          d_sums, stream);
}

template <typename T>
cudaError_t OutputSumsOf<T>::Finish(const SumsJob& job, const void* d_sums, const Outputs& outputs,
                                    const ResultTargets& targets, cudaStream_t stream) {
  return VisitSums(job, [&]<exact::Sums kSums>() {
    return LaunchPass(FinishSumsKernel<T, kSums>,
                      {.blocks = static_cast<unsigned>(CeilDiv(outputs.count, kFinishThreads)),
                       .threads = kFinishThreads},
                      stream, static_cast<const OutputSums<Lifted<T>, kSums>*>(d_sums), outputs,
                      job.omits_nan, targets);
  });
}

template <typename T>
const void* OutputSumsOf<T>::AnyKernel() {
  return reinterpret_cast<const void*>(&FinishSumsKernel<T, exact::Sums::kSum>);
}

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_OUTPUT_SUMS_CUH_
