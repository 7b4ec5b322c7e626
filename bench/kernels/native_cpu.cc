// The CPU kernels for Python benches, by ctypes (native.py), and what to compare them with: a plain
// read of memory, and a plain sum. Calls block; one at a time.
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "bench/kernels/native.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/dtypes/element.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace {

using warpfold::cpu::Task;

// Mean seconds of one of `repeats` runs, `threads` at most under way in each.
template <typename Run>
double SecondsOfOne(int threads, std::int64_t repeats, const Run& run) {
  tbb::task_arena arena(threads);
  const auto begin = std::chrono::steady_clock::now();
  if (threads == 1) {
    for (std::int64_t i = 0; i < repeats; ++i) run(warpfold::cpu::Serial);
  } else {
    arena.execute([&] {
      for (std::int64_t i = 0; i < repeats; ++i) {
        run([](std::int64_t count, Task task) {
          tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t t) { task(t); });
        });
      }
    });
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count() / static_cast<double>(repeats);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WARPFOLD_ALL_WIDTHS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WARPFOLD_ALL_WIDTHS
#endif

// As wide as the processor loads, which is all that a reduction may hope for.
WARPFOLD_ALL_WIDTHS std::uint64_t ReadWords(const std::uint64_t* words, std::int64_t count) {
  std::uint64_t all = 0;
  for (std::int64_t i = 0; i < count; ++i) all |= words[i];
  return all;
}

// In float64, as an exact sum would be if additions did not round: as many running sums as hide
// how long an addition takes.
#define WARPFOLD_PLAIN_SUM(T)                                                                 \
  WARPFOLD_ALL_WIDTHS double PlainSum(const T* elements, std::int64_t count) {                \
    constexpr int kRunning = 64;                                                              \
    double sums[kRunning] = {};                                                               \
    for (std::int64_t i = 0; i + kRunning <= count; i += kRunning) {                          \
      for (int r = 0; r < kRunning; ++r) sums[r] += warpfold::WidenToDouble(elements[i + r]); \
    }                                                                                         \
    double sum = 0;                                                                           \
    for (const double part : sums) sum += part;                                               \
    return sum;                                                                               \
  }
WARPFOLD_PLAIN_SUM(float)
WARPFOLD_PLAIN_SUM(double)
WARPFOLD_PLAIN_SUM(warpfold::BFloat16)

std::atomic<std::uint64_t> g_read;  // so that nothing read is dropped as unused

}  // namespace

extern "C" {

// "AVX3", "AVX2", ...: the width in use.
const char* warpfold_cpu_simd() { return warpfold::cpu::SimdTargetName(); }

// Reduces `data` `repeats` times over and leaves the results at `results` (native.h). Returns the
// mean seconds of one. 1 thread is the calling one.
double warpfold_cpu_reduce(const WarpfoldReduction* reduction, const void* data, void* results,
                           int threads, std::int64_t repeats) {
  const warpfold::bench::NativeReduction native(*reduction);
  warpfold::Overflow overflow;
  const warpfold::Output output = native.OutputAt(results, &overflow);
  return SecondsOfOne(threads, repeats, [&](warpfold::cpu::ParallelFor parallel_for) {
    warpfold::cpu::EngineFor({native.dtype, native.fused_op_set})
        .FoldElements(data, native.extent, output, parallel_for);
  });
}

// Reads `bytes`, a multiple of 8, of `data`, aligned to 8, `repeats` times over. Returns the mean
// seconds of one.
double warpfold_cpu_read(const void* data, std::int64_t bytes, int threads, std::int64_t repeats) {
  constexpr std::int64_t kTaskWords = 1 << 15;
  const auto* words = static_cast<const std::uint64_t*>(data);
  const std::int64_t count = bytes / 8;
  return SecondsOfOne(threads, repeats, [&](warpfold::cpu::ParallelFor parallel_for) {
    parallel_for((count + kTaskWords - 1) / kTaskWords, [&](std::int64_t task) {
      const std::int64_t first = task * kTaskWords;
      g_read.fetch_or(ReadWords(words + first, std::min(kTaskWords, count - first)),
                      std::memory_order_relaxed);
    });
  });
}

// Adds `count` elements of "f32", "f64" or "bf16", of which those beyond a multiple of 64 a task
// are left out, `repeats` times over. Returns the mean seconds of one.
double warpfold_cpu_plain_sum(const char* dtype, const void* data, std::int64_t count, int threads,
                              std::int64_t repeats) {
  constexpr std::int64_t kTaskElements = 1 << 16;
  const auto of = [&](const auto* elements) {
    return SecondsOfOne(threads, repeats, [&](warpfold::cpu::ParallelFor parallel_for) {
      parallel_for((count + kTaskElements - 1) / kTaskElements, [&](std::int64_t task) {
        const std::int64_t first = task * kTaskElements;
        const double sum = PlainSum(elements + first, std::min(kTaskElements, count - first));
        g_read.fetch_or(warpfold::BitCast<std::uint64_t>(sum), std::memory_order_relaxed);
      });
    });
  };
  const warpfold::DType type = warpfold::bench::Named(warpfold::kAllDTypes, dtype);
  if (type == warpfold::DType::kF64) return of(static_cast<const double*>(data));
  if (type == warpfold::DType::kBF16) return of(static_cast<const warpfold::BFloat16*>(data));
  return of(static_cast<const float*>(data));
}

}  // extern "C"
