#include "kernels/cuda/reduce.h"

#include "kernels/cuda/engine.h"

namespace warpfold::cuda {
namespace {

const Engine& EngineOfJob(const Job& job) {
  return VisitBuilt(job.dtype, [&](auto tag) -> const Engine& {
    using T = typename decltype(tag)::type;
    if constexpr (kIsFloat<T>) {
      if (job.is_product) {
        return ProductEngineFor<T>(
            job.fused_op_set == FusedOpSet::kOmitNan ? NanPolicy::kOmit : NanPolicy::kPropagate);
      }
    }
    return EngineFor<T>(job.fused_op_set);
  });
}

}  // namespace

std::size_t StateBytes(const Job& job) { return EngineOfJob(job).StateBytes(); }

std::size_t ElementsScratchBytes(const Job& job, const Extent& extent) {
  return EngineOfJob(job).ElementsScratchBytes(extent, job.device);
}

std::size_t StatesScratchBytes(const Job& job, const Extent& extent) {
  return EngineOfJob(job).StatesScratchBytes(extent);
}

cudaError_t FoldElements(const Job& job, const void* d_data, const Extent& extent,
                         const Output& output, void* d_scratch, cudaStream_t stream) {
  return EngineOfJob(job).FoldElements(d_data, extent, output, d_scratch, job.device, stream);
}

cudaError_t FoldBatch(const Job& job, const BatchItem* d_items, const BatchLaunch& launch,
                      cudaStream_t stream) {
  return EngineOfJob(job).FoldBatch(d_items, launch, stream);
}

cudaError_t FoldStates(const Job& job, const void* d_states, const Extent& extent,
                       const Output& output, void* d_scratch, cudaStream_t stream) {
  return EngineOfJob(job).FoldStates(d_states, extent, output, d_scratch, job.device, stream);
}

cudaError_t JoinStates(const Job& job, const void* d_states, std::int64_t count, void* d_to,
                       cudaStream_t stream) {
  return EngineOfJob(job).JoinStates(d_states, count, d_to, stream);
}

}  // namespace warpfold::cuda
