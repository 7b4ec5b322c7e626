#include "kernels/cuda/engine.cuh"

namespace warpfold::cuda {

const Engine& EngineF32(Bundle bundle) { return EngineFor<float>(bundle); }

}  // namespace warpfold::cuda
