// The engines of BOOL and integers of up to 16 bits.
#include "kernels/cpu/engine_of.h"

namespace warpfold::cpu {

template const Engine& EngineFor<Bool>(Bundle bundle);
template const Engine& EngineFor<std::int8_t>(Bundle bundle);
template const Engine& EngineFor<std::uint8_t>(Bundle bundle);
template const Engine& EngineFor<std::int16_t>(Bundle bundle);
template const Engine& EngineFor<std::uint16_t>(Bundle bundle);

}  // namespace warpfold::cpu
