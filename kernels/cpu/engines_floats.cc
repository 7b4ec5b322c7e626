// The engines of floats of 32 and 64 bits.
#include "kernels/cpu/engine_of.h"

namespace warpfold::cpu {

template const Engine& EngineFor<float>(Bundle bundle);
template const Engine& EngineFor<double>(Bundle bundle);

}  // namespace warpfold::cpu
