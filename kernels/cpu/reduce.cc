#include "kernels/cpu/reduce.h"

#include "kernels/dtypes/catalogue.h"

namespace warpfold::cpu {

// Each T is instantiated in a source of its own (engine_instance.cc.in).
template <typename T>
const Engine& EngineFor(FusedOpSet fused_op_set);

const Engine& EngineFor(const Job& job) {
  return VisitBuilt(job.dtype, [&](auto tag) -> const Engine& {
    return EngineFor<typename decltype(tag)::type>(job.fused_op_set);
  });
}

}  // namespace warpfold::cpu
