// The CUDA kernels and CUB's for Python benches, by ctypes (native.py): on the caller's buffers and
// stream, so that they take turns with another library's in its process. Every call that launches
// returns its cudaError_t at once; from one thread.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <vector>

#include "bench/kernels/native.h"
#include "bench/kernels/timing.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/exact_sum.h"
#include "kernels/cuda/output_sums.h"
#include "kernels/cuda/reduce.h"
#include "kernels/exact/results.h"
#include "kernels/ops/catalogue.h"

namespace {

using warpfold::bench::Check;
using warpfold::bench::NativeReduction;

warpfold::cuda::Job JobOf(const NativeReduction& native) {
  int device = 0;
  Check(cudaGetDevice(&device));
  warpfold::cuda::Job job{native.dtype, native.fused_op_set, {}};
  Check(warpfold::cuda::GetDeviceShape(device, &job.device));
  return job;
}

// What lies in a reduction's scratch memory: the list of undecided outputs, the sums of some of
// them, and what the kernels need.
struct Scratch {
  explicit Scratch(const NativeReduction& native)
      : job(JobOf(native)), outputs(native.extent.outputs()) {
    sums_job.dtype = native.dtype;
    sums_job.device = job.device;
    for (const warpfold::Op op : native.ops) {
      if (!warpfold::IsOfSumAlone(StatisticOf<float>(op)))
        sums_job.sums = warpfold::exact::Sums::kStatistics;
    }
    numbers_at = kAlignment;
    sums_at = numbers_at + Aligned(static_cast<std::size_t>(outputs) * sizeof(std::int64_t));
    kernels_at = sums_at;
    if (warpfold::IsFloat(native.dtype)) {
      sums_bytes =
          std::min(static_cast<std::size_t>(outputs) * warpfold::cuda::OutputSumsBytes(sums_job),
                   warpfold::cuda::kManySumsBytes);
      kernels_at += Aligned(sums_bytes);
    }
    bytes = kernels_at + std::max(warpfold::cuda::ElementsScratchBytes(job, native.extent),
                                  warpfold::cuda::kExactSumScratchBytesMax);
  }

  warpfold::cuda::Job job;
  warpfold::cuda::SumsJob sums_job;
  std::int64_t outputs;
  std::size_t sums_bytes = 0;
  std::size_t numbers_at, sums_at, kernels_at, bytes;

 private:
  static constexpr std::size_t kAlignment = 256;
  static std::size_t Aligned(std::size_t size) {
    return (size + kAlignment - 1) / kAlignment * kAlignment;
  }
};

// What the server has another kernel for: the sum of all elements, and nothing else.
bool IsWholeSum(const NativeReduction& native) {
  const std::int64_t bytes =
      native.extent.count * static_cast<std::int64_t>(warpfold::ElementBytes(native.dtype));
  return warpfold::IsFloat(native.dtype) && native.extent.outputs() == 1 &&
         native.ops == std::vector<warpfold::Op>{warpfold::Op::kSum} &&
         bytes >= warpfold::cuda::ExactSumBytesMin(native.dtype);
}

// Sums the undecided outputs again, of more than the list holds all.
void Finalize(const NativeReduction& native, const Scratch& scratch, const void* d_data,
              const warpfold::ResultTargets& targets, const warpfold::UndecidedCounts& undecided,
              char* d_scratch, cudaStream_t stream) {
  namespace cuda = warpfold::cuda;
  cuda::SumsJob job = scratch.sums_job;
  if (undecided.beyond_sums == 0) job.sums = warpfold::exact::Sums::kSum;
  const auto* const d_numbers =
      undecided.all > scratch.outputs
          ? nullptr
          : reinterpret_cast<const std::int64_t*>(d_scratch + scratch.numbers_at);
  Check(
      cuda::SumOutputs(job, {d_data, native.extent}, {},
                       {.count = std::min(undecided.all, scratch.outputs), .d_numbers = d_numbers},
                       targets, d_scratch + scratch.sums_at, scratch.sums_bytes, stream));
}

}  // namespace

extern "C" {

// Bytes of device memory that the reduction needs beside its results.
std::int64_t warpfold_cuda_scratch_bytes(const WarpfoldReduction* reduction) {
  return static_cast<std::int64_t>(Scratch(NativeReduction(*reduction)).bytes);
}

// `d_results` as in native.h. Sums may be left undecided until warpfold_cuda_recompute is called.
// REQUIRES: the scratch memory was zeros before the first call; no integer sum, which would need a
// record of what does not fit.
int warpfold_cuda_reduce(const WarpfoldReduction* reduction, const void* d_data, void* d_results,
                         void* d_scratch, cudaStream_t stream) {
  const NativeReduction native(*reduction);
  const Scratch scratch(native);
  char* const d_bytes = static_cast<char*>(d_scratch);
  warpfold::Output output = native.OutputAt(d_results, nullptr);
  if (IsWholeSum(native)) {
    return warpfold::cuda::ExactSum(native.dtype, d_data, native.extent.count, scratch.job.device,
                                    d_bytes + scratch.kernels_at, output.targets.arrays[0], stream);
  }
  output.undecided = {.counts = reinterpret_cast<warpfold::UndecidedCounts*>(d_bytes),
                      .numbers = reinterpret_cast<std::int64_t*>(d_bytes + scratch.numbers_at),
                      .capacity = scratch.outputs};
  return warpfold::cuda::FoldElements(scratch.job, d_data, native.extent, output,
                                      d_bytes + scratch.kernels_at, stream);
}

// After one such call: sums what it has left undecided again, and waits for it. Returns the number
// of such outputs, of some of which several results were undecided.
std::int64_t warpfold_cuda_recompute(const WarpfoldReduction* reduction, const void* d_data,
                                     void* d_results, void* d_scratch, cudaStream_t stream) {
  const NativeReduction native(*reduction);
  warpfold::UndecidedCounts undecided;
  Check(cudaMemcpyAsync(&undecided, d_scratch, sizeof(undecided), cudaMemcpyDeviceToHost, stream));
  Check(cudaMemsetAsync(d_scratch, 0, sizeof(undecided), stream));
  Check(cudaStreamSynchronize(stream));
  Finalize(native, Scratch(native), d_data, native.OutputAt(d_results, nullptr).targets, undecided,
           static_cast<char*>(d_scratch), stream);
  Check(cudaStreamSynchronize(stream));
  return undecided.all;
}

std::int64_t warpfold_cub_scratch_bytes(std::int64_t count) {
  std::size_t bytes = 0;
  Check(cub::DeviceReduce::Sum(nullptr, bytes, static_cast<const float*>(nullptr),
                               static_cast<float*>(nullptr), count));
  return static_cast<std::int64_t>(bytes);
}

// CUB's f32 sum into `d_sum`, with what warpfold_cub_scratch_bytes() says at `d_scratch`.
int warpfold_cub_sum(const float* d_data, std::int64_t count, float* d_sum, void* d_scratch,
                     std::int64_t scratch_bytes, cudaStream_t stream) {
  auto bytes = static_cast<std::size_t>(scratch_bytes);
  return cub::DeviceReduce::Sum(d_scratch, bytes, d_data, d_sum, count, stream);
}

}  // extern "C"
