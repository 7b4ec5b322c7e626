#include "kernels/cuda/engine.cuh"

namespace warpfold::cuda {

const Engine& EngineF64(Bundle bundle) { return EngineFor<double>(bundle); }

}  // namespace warpfold::cuda
