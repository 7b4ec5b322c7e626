// The exact sums of floats on a GPU, beside a reduction's folds: of the segments of a tensor that
// arrives, or of the outputs of a whole one that bounded sums have left undecided.
#ifndef WARPFOLD_SERVER_DEVICE_CUDA_CUDA_SUMS_H_
#define WARPFOLD_SERVER_DEVICE_CUDA_CUDA_SUMS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/output_sums.h"
#include "kernels/finish.h"
#include "kernels/plan.h"
#include "server/device/reduce/segments.h"

namespace warpfold {

// One reduction's. All calls enqueue on the stream that Place was given.
class CudaSums {
 public:
  // REQUIRES: one of the plan's ops is rounded from sums (cuda::IsOfFloatSums).
  CudaSums(const Plan& plan, const SegmentCutter& cutter, const cuda::DeviceShape& device);

  // exact::OutputSums of so many bytes an output: those of a plan that leaves states are states.
  std::size_t state_bytes() const { return sums_bytes_; }
  exact::Sums kind() const { return job_.sums; }

  std::size_t sums_bytes() const { return slots_ * sums_bytes_; }
  void Place(std::byte* d_sums, const ResultTargets& targets, cudaStream_t stream);

  // The next segment of a tensor that comes in several.
  absl::Status Add(const void* d_data, const Segment& segment);
  // After the last one, unless the sums are wanted as they are.
  absl::Status Finish();

  // Of a tensor that is all there, results of these outputs: all, or those of SUM and MEAN.
  absl::Status SumAgain(const void* d_tensor, const cuda::Outputs& outputs, bool beyond_sums);

 private:
  // Adds up `outputs` of the rows and writes their results.
  absl::Status Sum(const cuda::SumsJob& job, const cuda::RowsAt& rows,
                   const OutputRows& output_rows, const cuda::Outputs& outputs,
                   const ResultTargets& targets);

  Geometry geometry_;
  cuda::SumsJob job_;
  std::size_t sums_bytes_;  // of an output
  std::int64_t outputs_;
  bool ends_rows_;  // each segment is whole outputs, of which nothing is kept
  std::size_t slots_ = 0;
  ResultTargets targets_;
  std::byte* d_sums_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_CUDA_CUDA_SUMS_H_
