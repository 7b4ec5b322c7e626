#include "kernels/cuda/engine.cuh"

namespace warpfold::cuda {

const Engine& EngineI64(Bundle bundle) { return EngineFor<std::int64_t>(bundle); }

}  // namespace warpfold::cuda
