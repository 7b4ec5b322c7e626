// What a request asks for, checked once and turned into a shape that the kernels can walk.
//
// Step of a request: between the front end (which decodes it) and the device (which runs it).
// Everything below this file may assume that a Plan is right: axes are unique and in range, byte
// counts fit, min and max have something to look at. Pure functions, no state; safe from any
// thread.
#ifndef WARPFOLD_KERNELS_PLAN_H_
#define WARPFOLD_KERNELS_PLAN_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/extent.h"
#include "kernels/ops/fusions.h"
#include "kernels/output_rows.h"
#include "kernels/reduced_index_map.h"
#include "kernels/types.h"

namespace warpfold {

inline constexpr int kMaxRank = 2 * kMaxReducedRuns;

// A reduction as a client states it.
struct ReduceSpec {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape = {};  // C order; empty is a scalar
  std::vector<Op> ops = {};              // at least one, none twice
  std::vector<std::int64_t> axes = {};   // in [-rank, rank), none twice; empty is all
  bool keepdims = false;
  NanPolicy nan_policy = NanPolicy::kPropagate;
  double correction = 0;  // of VAR and STD: any finite number, fractions and negative ones, too
};

// The tensor, its dimensions of length 1 dropped and its neighbours merged, seen as [outer, reduce,
// inner] around its last reduced run of dimensions. Elements fold along `reduce` first. Reduced
// runs further out are left as `folds`: each takes states shaped [outer, count, inner] to [outer,
// inner], from the innermost run to the outermost.
//   shape [8, 3, 5, 7], axes {0, 2}  ->  outer 24, reduce 5, inner 7; folds {{outer 1, count 8,
//   inner 21}}
struct Geometry {
  struct Fold {
    std::int64_t outer = 1;
    std::int64_t count = 1;
    std::int64_t inner = 1;
  };
  std::int64_t outer = 1;
  std::int64_t reduce = 1;
  std::int64_t inner = 1;
  std::vector<Fold> folds;
  // The reduced runs from the outermost in, as an element's linear offset sees them. At most
  // kMaxReducedRuns: kept runs lie between them.
  std::vector<ReducedRun> reduced_runs;

  std::int64_t element_count() const { return outer * reduce * inner; }
  // States after the elements have been folded along `reduce`.
  std::int64_t row_count() const { return outer * inner; }
  OutputRows output_rows() const;
};

struct Plan {
  DType dtype = DType::kF32;
  std::vector<Op> ops;
  NanPolicy nan_policy = NanPolicy::kPropagate;
  std::vector<std::int64_t> shape;
  std::bitset<kMaxRank> reduced;  // which of its dimensions
  Geometry geometry;
  std::vector<std::int64_t> result_shape;
  std::int64_t element_count = 0;
  std::int64_t input_bytes = 0;
  std::int64_t output_count = 0;   // elements of one op's result
  std::int64_t reduced_count = 0;  // elements behind each of them
  double correction = 0;           // of VAR and STD
  // Of a part (part.h): the number of its first output in the whole, for whoever names one; the
  // linear offset of its first element there; and where its elements are among the reduced axes.
  std::int64_t first_output = 0;
  std::int64_t first_element = 0;
  ReducedIndexMap index_map;
  // A device leaves the state of each output, fold.h's F::State of the fused op set, and no
  // results; or where sums are exact the values of server/device/reduce/part_values.h.
  bool leaves_states = false;
  // With these, and of floats: whose sums are not exact but bounded (exact/bounded.h), as
  // Worker::JoinPartials takes them.
  bool leaves_partials = false;

  FusedOpSet fused_op_set() const { return FusedOpSetFor(dtype, ops, nan_policy); }
  // Of the results of ops[i].
  DType result_dtype(std::size_t i) const;
  std::int64_t result_bytes(std::size_t i) const;
  // Bytes of all results together.
  std::int64_t result_bytes() const;
};

// Checks `spec` and plans it. INVALID_ARGUMENT about a field (field_error.h): `tensor.shape`
// (negative dimension, rank above kMaxRank, byte count past int64), `tensor.dtype` and `nan_policy`
// (no such one), `ops` (none, twice, too many, no such one, no elements for one that needs some, a
// correction that is not finite), `axes` (twice, out of range).
absl::StatusOr<Plan> MakePlan(const ReduceSpec& spec);

// UNIMPLEMENTED about `tensor.dtype` where this build has no kernels of it.
absl::Status BuiltStatus(DType dtype);

// The same reduction of a tensor of `shape`, which has the rank and is right; the results' shape is
// not set. MIN and the like of no elements are the caller's to refuse.
Plan Reshaped(const Plan& plan, std::vector<std::int64_t> shape);

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_PLAN_H_
