#include "kernels/cuda/engine.cuh"

namespace warpfold::cuda {

const Engine& EngineI32(Bundle bundle) { return EngineFor<std::int32_t>(bundle); }

}  // namespace warpfold::cuda
