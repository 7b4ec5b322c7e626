// The engines of integers of 32 and 64 bits.
#include "kernels/cpu/engine_of.h"

namespace warpfold::cpu {

template const Engine& EngineFor<std::int32_t>(Bundle bundle);
template const Engine& EngineFor<std::uint32_t>(Bundle bundle);
template const Engine& EngineFor<std::int64_t>(Bundle bundle);
template const Engine& EngineFor<std::uint64_t>(Bundle bundle);

}  // namespace warpfold::cpu
