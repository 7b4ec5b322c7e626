// Exact sums of many outputs in device memory, to which the elements of a tensor are added in any
// order and in any number of calls, and which then are rounded once. Sums of nothing are zero
// bytes.
//
// Whatever the elements are they take as long; a kernel that needs less where they lie close
// together is faster (flat_sum.cuh). For outputs that their bounded sums leave undecided.
//
// Every function enqueues on `stream` and returns at once, as those of reduce.h. All pointers are
// device pointers.
#ifndef WARPFOLD_KERNELS_CUDA_OUTPUT_SUMS_H_
#define WARPFOLD_KERNELS_CUDA_OUTPUT_SUMS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch_plan.h"
#include "kernels/exact/sums.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/host_device.h"
#include "kernels/output_rows.h"
#include "kernels/types.h"

namespace warpfold::cuda {

struct SumsJob {
  DType dtype = DType::kF32;             // a float
  exact::Sums sums = exact::Sums::kSum;  // not kNone
  bool omits_nan = false;
  DeviceShape device;
};

// Rows of a tensor, [outer, count, inner] at `d_data`: `count` elements each, `inner` apart.
struct RowsAt {
  const void* d_data = nullptr;
  Extent extent;
  std::int64_t first_row = 0;  // the number in the tensor of the first one; others follow it
};

// Some of a tensor's outputs. The sums of number i of them are the i-th.
struct Outputs {
  std::int64_t count = 1;
  std::int64_t first = 0;                   // they are first, first + 1, ...
  const std::int64_t* d_numbers = nullptr;  // or, unless null, these

  WARPFOLD_HD std::int64_t NumberOf(std::int64_t i) const {
    return d_numbers != nullptr ? d_numbers[i] : first + i;
  }
};

// Bytes of the sums of one output.
std::size_t OutputSumsBytes(const SumsJob& job);

// Adds all of `rows` to the sums of their outputs, which are there from `first_output` on. No
// output takes part in more than 2^31 calls.
[[nodiscard]] cudaError_t AddRows(const SumsJob& job, const RowsAt& rows,
                                  const OutputRows& output_rows, std::int64_t first_output,
                                  void* d_sums, cudaStream_t stream);

// Adds all rows of `outputs`. `tensor` has all of a tensor's rows.
[[nodiscard]] cudaError_t AddOutputs(const SumsJob& job, const RowsAt& tensor,
                                     const OutputRows& output_rows, const Outputs& outputs,
                                     void* d_sums, cudaStream_t stream);

// Writes those of the targets' ops that are rounded from the job's sums: SUM and MEAN, and of
// kStatistics the norms, VAR and STD. The result of each output goes to its number in the arrays.
// The sums are as they were.
[[nodiscard]] cudaError_t FinishSums(const SumsJob& job, const void* d_sums, const Outputs& outputs,
                                     const ResultTargets& targets, cudaStream_t stream);

// Adds up all rows of `outputs` and writes their results, as the two above: as many outputs at a
// time as `bytes` at `d_sums` have room for. REQUIRES: room for one.
[[nodiscard]] cudaError_t SumOutputs(const SumsJob& job, const RowsAt& tensor,
                                     const OutputRows& output_rows, const Outputs& outputs,
                                     const ResultTargets& targets, void* d_sums, std::size_t bytes,
                                     cudaStream_t stream);
// Room in which many outputs are not held up by their turns: of f64's statistics, the largest,
// 15,600 at a time took 7 ns an output and 1,900 took 44 (H100, 2026-11-27).
inline constexpr std::size_t kManySumsBytes = std::size_t{32} << 20;

// What a reduction leaves undecided of a tensor that is all there (Output::undecided).
struct UndecidedOutputs {
  RowsAt tensor;  // all of its rows
  OutputRows output_rows;
  std::int64_t outputs = 1;
  UndecidedList list;  // of no more than all outputs
};
// What RecomputeUndecided takes of a GPU's memory, on a multiple of 16 bytes.
struct RecomputeBytes {
  std::size_t zeroed = 0;  // the first of them, zeros
  std::size_t all = 0;
};
RecomputeBytes RecomputeBytesOf(const SumsJob& job, std::int64_t outputs);
// Adds up all rows of those that the stream will find undecided, and writes their results, as
// SumOutputs does of those that the host has been told. Leaves no undecided in the list's counts,
// and zeros where there were.
[[nodiscard]] cudaError_t RecomputeUndecided(const SumsJob& job, const UndecidedOutputs& undecided,
                                             const ResultTargets& targets, void* d_memory,
                                             cudaStream_t stream);

// The same for one element type, each of which is instantiated in a .cu of its own
// (output_sums_instance.cu.in).
template <typename T>
struct OutputSumsOf {
  static std::size_t Bytes(const SumsJob& job);
  static cudaError_t AddRows(const SumsJob& job, const RowsAt& rows, const OutputRows& output_rows,
                             std::int64_t first_output, void* d_sums, cudaStream_t stream);
  static cudaError_t AddOutputs(const SumsJob& job, const RowsAt& tensor,
                                const OutputRows& output_rows, const Outputs& outputs, void* d_sums,
                                cudaStream_t stream);
  static cudaError_t Finish(const SumsJob& job, const void* d_sums, const Outputs& outputs,
                            const ResultTargets& targets, cudaStream_t stream);
  static RecomputeBytes BytesToRecompute(const SumsJob& job, std::int64_t outputs);
  static cudaError_t Recompute(const SumsJob& job, const UndecidedOutputs& undecided,
                               const ResultTargets& targets, void* d_memory, cudaStream_t stream);
  // One of its kernels, as Engine::AnyKernel.
  static const void* AnyKernel();
};

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_OUTPUT_SUMS_H_
