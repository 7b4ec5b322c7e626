// States (kernels/exact/fold.h) to and from the values by which they travel. Of the kinds SUM,
// ABS_SUM and SQUARE_SUM a value is one of exact/wire.h, of integers too; of PRODUCT of floats it
// is a byte with flags and the sign of a ProductState, then the mantissa, the exponent and the
// number of truncations, little-endian; others are pack_fields.h's. One string a kind, so that the
// bytes do not depend on how components are fused.
//
// Values come from anywhere: UnpackExactly takes none that arithmetic could trip over, nor any that
// the elements cannot come to as far as values tell. Pure functions; safe from any thread.
#ifndef WARPFOLD_KERNELS_CPU_EXACT_PACK_H_
#define WARPFOLD_KERNELS_CPU_EXACT_PACK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/cpu/reduce.h"
#include "kernels/part.h"
#include "kernels/reduced_index_map.h"
#include "kernels/values.h"

namespace warpfold::cpu {

// Appends the values of `count` normalised states, output by output, to values[i] of kinds[i].
// The states' indices are offsets in `index_map`; packed they are those in the whole. REQUIRES: the
// job's fusion has the kinds.
void PackExactly(const Job& job, const std::vector<ValueKind>& kinds, const void* states,
                 std::int64_t count, const ReducedIndexMap& index_map,
                 std::vector<std::string>& values);

// The inverse, which takes the values of `count` outputs from the front of each; the identity of
// kinds that are not in `kinds`. The kind, if any, of which a value is not one that `elements` can
// have, or is missing.
std::optional<ValueKind> UnpackExactly(const Job& job, const std::vector<ValueKind>& kinds,
                                       std::vector<absl::string_view>& values, std::int64_t count,
                                       const ReducedElements& elements, void* states);

}  // namespace warpfold::cpu

#endif  // WARPFOLD_KERNELS_CPU_EXACT_PACK_H_
