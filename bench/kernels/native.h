// What both native libraries of the Python benches share: a reduction as ctypes passes it, and
// where its results go.
#ifndef WARPFOLD_BENCH_KERNELS_NATIVE_H_
#define WARPFOLD_BENCH_KERNELS_NATIVE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kernels/extent.h"
#include "kernels/finish.h"
#include "kernels/ops/fusions.h"
#include "kernels/types.h"

extern "C" {

// Elements [outer, count, inner] of one array, folded along `count`.
struct WarpfoldReduction {
  const char* dtype;  // "f32", as in flags
  const char* ops;    // "sum" or several, "sum,mean"
  std::int64_t outer;
  std::int64_t count;
  std::int64_t inner;
};

}  // extern "C"

namespace warpfold::bench {

// The member of `all` that is called `name`. Ends the process where there is none.
template <typename Enum, std::size_t kCount>
Enum Named(const std::array<Enum, kCount>& all, std::string_view name) {
  for (const Enum one : all) {
    if (Name(one) == name) return one;
  }
  std::fprintf(stderr, "bench: there is no '%.*s'\n", static_cast<int>(name.size()), name.data());
  std::exit(1);
}

// A reduction as the kernels take it. No integer sum is told that it does not fit.
struct NativeReduction {
  explicit NativeReduction(const WarpfoldReduction& of)
      : dtype(Named(kAllDTypes, of.dtype)), extent{of.outer, of.count, of.inner} {
    std::string_view names = of.ops;
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(','), names.size());
      ops.push_back(Named(kAllOps, names.substr(0, end)));
      names.remove_prefix(std::min(end + 1, names.size()));
    }
    fused_op_set = FusedOpSetFor(dtype, ops, NanPolicy::kPropagate);
  }

  // Op number i's results begin at `results` + i * outputs * 8 bytes.
  Output OutputAt(void* results, Overflow* overflow) const {
    Output output;
    output.overflow = overflow;
    output.targets.reduced_count = extent.count;
    output.targets.reduced_run_count = 1;
    output.targets.reduced_runs[0] = {extent.inner, extent.count};
    for (const Op op : ops) {
      const int i = output.targets.count++;
      output.targets.ops[i] = op;
      output.targets.arrays[i] = static_cast<char*>(results) + i * extent.outputs() * 8;
    }
    return output;
  }

  DType dtype;
  Extent extent;
  std::vector<Op> ops;
  FusedOpSet fused_op_set = FusedOpSet::kSum;
};

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_NATIVE_H_
