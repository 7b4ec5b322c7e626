// States of a fold to and from the packed values by which they travel: one array a kind, as the
// proto's PartialState lays them out. Kinds that the fold has and the arrays do not are left out,
// so the bytes do not depend on how components are fused.
//
// Packed values come from anywhere: Unpack takes none that arithmetic could trip over. Pure
// functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_PACK_H_
#define WARPFOLD_KERNELS_CPU_PACK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/extent.h"
#include "kernels/part.h"
#include "kernels/values.h"

namespace warpfold::cpu {

// Packs `count` states. values[i] is where the first value of kinds[i] goes. `runs` are those in
// which the states' indices are; packed they are `first_index` further on. REQUIRES: the fold has
// the kinds. `states` need no alignment.
void Pack(const Job& job, const std::vector<ValueKind>& kinds, const void* states,
          std::int64_t count, const std::vector<ReducedRun>& runs, std::int64_t first_index,
          const std::vector<char*>& values);

// The inverse, with the identity for kinds that are not in `kinds`; indices stay as they are
// packed. The kind, if any, of which a value is not one that `elements` can have.
std::optional<ValueKind> Unpack(const Job& job, const std::vector<ValueKind>& kinds,
                                const std::vector<const char*>& values, std::int64_t count,
                                const ReducedElements& elements, void* states);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_PACK_H_
