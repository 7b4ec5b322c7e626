// How a large tensor is cut into stripes that travel at the same time, so that the answer has the
// bits of the whole: slices of the caller's memory, one after the other.
//
// Where the outermost dimension is kept, each stripe is a tensor with results of its own, and the
// whole's are theirs in a row. Where it is reduced, each is a part in the contract's sense
// (reduction.proto, Part), and their states are merged.
//
// Why not CreateTensor, WriteTensor and a Reduce with `consume`: the server would hold all of the
// tensor, against Limits.max_resident_bytes, and of several servers behind one name one has to get
// every range. Parts hold a bounded piece each, and any server may take any of them.
//
// Thread safety: pure functions.
#ifndef WARPFOLD_CLIENT_CPP_STRIPES_H_
#define WARPFOLD_CLIENT_CPP_STRIPES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/cpp/tensor.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold::client {

struct Stripe {
  std::int64_t offset = 0;          // in indices of the dimension that is cut
  std::vector<std::int64_t> shape;  // of the stripe
  std::size_t first_byte = 0;       // of the whole's
  std::size_t bytes = 0;
};

struct StripePlan {
  enum class Join {
    kMerge,        // the stripes' states
    kConcatenate,  // the stripes' results, along result_dimension
  };
  Join join = Join::kMerge;
  // Of kMerge the tensor's shape, in which the dimensions that are cut together are one.
  std::vector<std::int64_t> whole_shape;
  std::size_t dimension = 0;  // that is cut
  std::size_t result_dimension = 0;
  std::int64_t index_results = 0;  // of kConcatenate: the results of one index of what is cut
  std::vector<Stripe> stripes;     // two or more
};

struct StripeLimits {
  int connections = 1;
  std::int64_t stripe_bytes_min = 1;
  std::int64_t message_bytes_max = 0;  // of the server; 0: it did not say
  std::int64_t result_bytes_max = 0;   // the same
};

// Where `stripe`, one of kMerge, is in the whole.
PartOfWhole PartOf(const StripePlan& plan, const Stripe& stripe);

// Which of `rank` dimensions are reduced; nullopt for axes that are not a set of dimensions.
std::optional<std::vector<bool>> ReducedDimensions(std::size_t rank,
                                                   std::span<const std::int64_t> axes);

// nullopt when the tensor cannot be cut, or its states would be too large to be worth it. Its bytes
// are not looked at. Axes that no server would take are left to it: no plan.
std::optional<StripePlan> PlanStripes(const TensorView& tensor, std::span<const std::int64_t> axes,
                                      std::span<const Op> ops, bool keepdims,
                                      const StripeLimits& limits);

// The most bytes that a state may have for `op` and an output (PartialState); elements whose
// magnitudes differ little take far fewer.
std::int64_t StateBytesMax(Op op, DType dtype);

// Consecutive ranges of `bytes`, each a multiple of `multiple` but the last: as many as keep
// `connections` busy, and none smaller than `bytes_min` but the last.
std::int64_t RangeBytes(std::int64_t bytes, int connections, std::int64_t bytes_min,
                        std::int64_t multiple);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_STRIPES_H_
