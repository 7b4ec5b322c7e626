// What it costs the serving path to count a request, with as many threads as count at once. A
// request is a reduction and a call that ends.
//
//   build/release/bench/service/warpfold_bench_count_request
#include <chrono>

#include "benchmark/benchmark.h"
#include "server/observe/metrics/metrics.h"

namespace warpfold {
namespace {

void CountRequest(benchmark::State& state) {
  static Metrics metrics({});
  const Plan plan = *MakePlan({.dtype = DType::kF32, .shape = {1024}, .ops = {Op::kSum}});
  RequestRecord record{.plan = &plan, .total = std::chrono::microseconds(90)};
  record.stages.fill(std::chrono::microseconds(7));
  for ([[maybe_unused]] auto request : state) {
    metrics.CountRequest(record);
    metrics.CountCallHandled(Method::kReduce, record.code, record.total);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(CountRequest)->ThreadRange(1, 16);

}  // namespace
}  // namespace warpfold

BENCHMARK_MAIN();
