// The CUDA kernels and CUB's for Python benches, by ctypes (native.py): on the caller's buffers and
// stream, so that they take turns with another library's in its process. Every call that launches
// returns its cudaError_t at once; from one thread.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_reduce.cuh>

#include "bench/kernels/native.h"
#include "bench/kernels/timing.h"
#include "kernels/cuda/reduce.h"

namespace {

using warpfold::bench::NativeReduction;

warpfold::cuda::Job JobOf(const NativeReduction& native) {
  using warpfold::bench::Check;
  int device = 0;
  Check(cudaGetDevice(&device));
  warpfold::cuda::Job job{native.dtype, native.bundle, {}};
  Check(warpfold::cuda::GetDeviceShape(device, &job.device));
  return job;
}

}  // namespace

extern "C" {

// Bytes of device memory that the reduction needs beside its results.
std::int64_t warpfold_cuda_scratch_bytes(const WarpfoldReduction* reduction) {
  const NativeReduction native(*reduction);
  return static_cast<std::int64_t>(
      warpfold::cuda::ElementsScratchBytes(JobOf(native), native.extent));
}

// `d_results` as in native.h. REQUIRES: no integer sum, which would need a record of what does not
// fit.
int warpfold_cuda_reduce(const WarpfoldReduction* reduction, const void* d_data, void* d_results,
                         void* d_scratch, cudaStream_t stream) {
  const NativeReduction native(*reduction);
  return warpfold::cuda::FoldElements(JobOf(native), d_data, native.extent,
                                      native.OutputAt(d_results, nullptr), d_scratch, stream);
}

std::int64_t warpfold_cub_scratch_bytes(std::int64_t count) {
  std::size_t bytes = 0;
  warpfold::bench::Check(cub::DeviceReduce::Sum(nullptr, bytes, static_cast<const float*>(nullptr),
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
