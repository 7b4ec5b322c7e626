// What it costs the serving path to count a request, which docs/metrics.md quotes. The bound is
// loose, for machines that do much else; the figure is printed.
#include <chrono>
#include <ctime>
#include <iostream>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/observe/metrics.h"

namespace warpfold {
namespace {

constexpr int kRequestsEach = 100'000;

double ProcessCpuNs() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// CPU time of one request's counting, with `threads` that count at once.
double CountingNs(Metrics& metrics, int threads) {
  const Plan plan = *MakePlan({.dtype = DType::kF32, .shape = {1024}, .ops = {Op::kSum}});
  RequestRecord record{.plan = &plan, .total = std::chrono::microseconds(90)};
  record.stages.fill(std::chrono::microseconds(7));
  const double start_ns = ProcessCpuNs();
  {
    std::vector<std::jthread> counting;
    for (int t = 0; t < threads; ++t) {
      counting.emplace_back([&] {
        for (int i = 0; i < kRequestsEach; ++i) {
          metrics.CountCallStarted(Method::kReduce);
          metrics.CountRequest(record);
          metrics.CountCallHandled(Method::kReduce, record.code, record.total);
        }
      });
    }
  }
  return (ProcessCpuNs() - start_ns) / (threads * kRequestsEach);
}

TEST(MetricsCostTest, CountingARequestTakesUnderTwoPercentOfServingIt) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own cost would be measured";
#endif
  // What serving a small request takes of the server's processors: 4 KiB, 8 clients, 2 cores, CPU
  // backend, 2026-11-21, process_cpu_seconds_total over warpfold_requests_total.
  constexpr double kServingNs = 70'000;
  Metrics metrics({});
  CountingNs(metrics, 1);  // warm
  for (const int threads : {1, 4}) {
    const double ns = CountingNs(metrics, threads);
    std::cout << "counting a request takes " << ns << " ns of CPU with " << threads << " threads\n";
    EXPECT_LT(ns, 0.02 * kServingNs);
  }
}

}  // namespace
}  // namespace warpfold
