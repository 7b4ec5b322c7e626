// The engines of floats of 16 bits.
#include "kernels/cpu/engine_of.h"

namespace warpfold::cpu {

template const Engine& EngineFor<Half>(Bundle bundle);
template const Engine& EngineFor<BFloat16>(Bundle bundle);

}  // namespace warpfold::cpu
