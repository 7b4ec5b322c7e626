// Measures one dtype at one size, each set of ops against CUB where CUB has it and against our own
// sum: first the answer is checked, then all are timed.
//
// Each of the three measure_*.cu has a few dtypes, so that they compile side by side.
#ifndef WARPFOLD_BENCH_KERNELS_MEASURE_CUH_
#define WARPFOLD_BENCH_KERNELS_MEASURE_CUH_

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/kernels/contestants.cuh"
#include "bench/kernels/fill.cuh"
#include "bench/kernels/measure.h"
#include "bench/kernels/timing.h"
#include "kernels/dtypes/catalogue.h"

namespace warpfold::bench {

// CUB sums f32 in f32 in another order: within that the answers agree, and a wrong kernel does not.
// It sums 16-bit floats in 16 bits, which overflow or stop growing; their sums cannot be compared.
template <typename T>
void CheckAnswer(const Entry& entry, double mine, double cubs, std::int64_t n) {
  const bool is_float_sum = entry.ops[0] == Op::kSum && kIsFloat<T>;
  if (is_float_sum && kIsHalf<T>) return;
  const double scale = 150.0 * std::sqrt(static_cast<double>(n)) + std::fabs(mine);
  if (!(std::fabs(mine - cubs) <= (is_float_sum ? 1e-3 * scale : 0))) {
    std::fprintf(stderr, "bench: wrong answer: %s of %s, n=%lld: ours %.17g, cub %.17g\n",
                 entry.name, Name(kDTypeOf<T>), static_cast<long long>(n), mine, cubs);
    std::exit(1);
  }
}

template <typename T>
void Measure(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report) {
  const std::int64_t n = (std::int64_t{1} << log2_bytes) / static_cast<std::int64_t>(sizeof(T));
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  const Rotation rotation(bytes);
  DeviceBuffer data(bytes * static_cast<std::size_t>(rotation.inputs));
  const auto input = [&](int i) { return static_cast<T*>(data.data) + i * n; };
  Fill(static_cast<T*>(data.data), n * rotation.inputs);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  const Warpfold<T> sum({Op::kSum}, {1, n, 1}, device);
  sum.Enqueue(input(0), stream);
  for (const Entry& entry : Entries()) {
    if (!report.Covers(entry)) continue;
    const Warpfold<T> ours(entry.ops, {1, n, 1}, device);
    const Cub<T> cub(entry.has_cub ? entry.ops[0] : Op::kSum, n);
    ours.Enqueue(input(0), stream);
    cub.Enqueue(input(0), stream);
    Check(cudaStreamSynchronize(stream));
    if (entry.has_cub) CheckAnswer<T>(entry, ours.Answer(), cub.Answer(), n);

    const std::vector<double> seconds =
        MedianSecondsOf(input(0), n, rotation, stream, ours, sum, cub);
    report.Add(entry, kDTypeOf<T>, n, bytes, {seconds[0], seconds[1], seconds[2]});
  }
  Check(cudaStreamDestroy(stream));
}

template <typename... T>
void MeasureEach(int log2_bytes, const cuda::DeviceShape& device, KernelReport& report) {
  ((report.Covers(kDTypeOf<T>) ? Measure<T>(log2_bytes, device, report) : void()), ...);
}

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_MEASURE_CUH_
