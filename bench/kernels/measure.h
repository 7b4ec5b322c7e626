// What warpfold_bench_kernels does for each dtype and size.
#ifndef WARPFOLD_BENCH_KERNELS_MEASURE_H_
#define WARPFOLD_BENCH_KERNELS_MEASURE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kernels/report.h"
#include "kernels/cuda/launch_plan.h"
#include "kernels/types.h"

namespace warpfold::bench {

// What one request asks for, and, where it is one op, the op that CUB is asked for.
struct Entry {
  const char* name;
  std::vector<Op> ops;
  bool has_cub = true;
};
std::vector<Entry> Entries();

// Of one launch.
struct Seconds {
  double ours;
  double our_sum;
  double cub;
};

struct KernelReport : Report {
  std::vector<std::string> dtypes, ops;  // the names of those to measure; none: all

  bool Covers(DType dtype) const { return Covers(dtypes, Name(dtype)); }
  bool Covers(const Entry& entry) const { return Covers(ops, entry.name); }
  // Prints a line and adds a row.
  void Add(const Entry& entry, DType dtype, std::int64_t elements, std::size_t bytes,
           const Seconds& seconds);

 private:
  static bool Covers(const std::vector<std::string>& names, std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  }
};

// Time every entry that `report` covers over 2^log2_bytes bytes of each of some dtypes. End the
// process with a message when an answer is wrong or CUDA fails.
void MeasureFloats(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report);
void MeasureSigned(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report);
void MeasureUnsigned(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report);

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_MEASURE_H_
