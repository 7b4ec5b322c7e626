// What an op is: a struct with
//
//   static constexpr OpInfo kInfo;        its row of the catalogue
//   template <typename T>
//   static constexpr Statistic kStatistic;
//                                         over elements T what is rounded from exact sums or
//                                         products; kNone where Finish makes the result
//   static constexpr int kTrailingDims;   how many dimensions its results have of their own, behind
//                                         those that are kept; only where they have some
//   template <typename T, class Values>
//   static R Finish(const Values&);       the result of one output, R being its dtype's type, or
//                                         Checked<R> of an integer that may not fit
//
// Finish reads what its kinds of values came to: `of.template Get<ValueKind::kMin>()`, as the
// component of that kind (kernels/components.h) has it, and of an index `of.IndexOf(best)`;
// `of.count()` is the number of elements that take part. It is given those of no elements, too.
#ifndef WARPFOLD_KERNELS_OPS_OP_H_
#define WARPFOLD_KERNELS_OPS_OP_H_

#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"
#include "kernels/ops/statistic.h"
#include "kernels/ops/value_kind.h"

namespace warpfold {

// A parameter of ops, a float64.
struct ParamInfo {
  const char* name;
  const char* summary;
  double preset;  // where a request does not say
};
// Those that ops have together, by the name that the contract's OpSpec has for them.
struct ParamSet {
  const char* name;
  std::span<const ParamInfo> params;
};

struct OpInfo {
  int number;             // in reduction.proto's Op
  const char* name;       // in flags, metrics and messages; in upper case reduction.proto's
  const char* summary;    // what it is, as in "the ... of the elements"
  const char* numpy;      // NumPy's function, empty if it has none
  const char* numpy_nan;  // the same where NaN are omitted
  KindSet needs;          // what it is computed from
  bool has_empty = true;  // whether no elements have a result; else they are refused
  const ParamSet* params = nullptr;
};

// The float type of MEAN, VAR, STD and the norms. Of floats of 8 bits, in which no sum would have a
// place, f32.
template <typename T>
using FloatOf = std::conditional_t<kIsLifted<T>, float, std::conditional_t<kIsFloat<T>, T, double>>;
// The integer type of SUM and PROD.
template <typename T>
using IntegerOf = std::conditional_t<kIsUnsigned<T>, std::uint64_t, std::int64_t>;

// An exact integer that is to be an R, and may not fit.
template <typename R>
struct Checked {
  int128 exact;
  bool is_known = true;  // else it is past what 128 bits hold, and `exact` fits no R
};

// An op that is rounded over elements of any type.
template <Statistic kIs>
struct RoundedOp {
  template <typename T>
  static constexpr Statistic kStatistic = kIs;
};
// One that never is.
using ExactOp = RoundedOp<Statistic::kNone>;

}  // namespace warpfold

#endif  // WARPFOLD_KERNELS_OPS_OP_H_
