// The type-erased inside of reduce.h: one Engine for each dtype and fused op set.
#ifndef WARPFOLD_KERNELS_CPU_ENGINE_H_
#define WARPFOLD_KERNELS_CPU_ENGINE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/reduce.h"
#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/ops/fusions.h"

namespace warpfold::cpu {

// The functions of reduce.h, without the Job that chose the engine.
struct Engine {
  std::size_t state_bytes;
  void (*fold_elements)(const void* data, const Extent& extent, const Output& output,
                        ParallelFor parallel_for);
  void (*fold_states)(const void* states, const Extent& extent, const Output& output,
                      ParallelFor parallel_for);
  void (*clear_states)(void* states, std::int64_t count);
  void (*add_elements)(const void* data, const Extent& extent, const RowNumbers& rows, void* states,
                       ParallelFor parallel_for);
  void (*add_states)(const void* from, std::int64_t count, void* states);
};

// The engine of T and `fused_op_set`. Each T is instantiated in a source of its own
// (engine_instance.cc.in).
template <typename T>
const Engine& EngineFor(FusedOpSet fused_op_set);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_ENGINE_H_
