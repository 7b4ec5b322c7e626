// How a thread should learn that a GPU is done with its request: the numbers behind how
// server/device/cuda waits. Each request copies 4 KiB to the device, runs one kernel, which adds
// them up and takes no time or a millisecond, and copies 4 KiB back; each way to wait takes its
// turn, round after round. The answer is the median and the 99th percentile from the first call to
// the waiter knowing, and the processor time that a request took of the whole process.
//
// On an idle server none of them costs anything: nobody waits.
//
//   warpfold_bench_completion [--rounds N] [--json FILE] [--commit SHA] [--date DATE]
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <vector>

#include "bench/kernels/report.h"
#include "bench/kernels/timing.h"

namespace warpfold::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kElements = 1024;
constexpr std::size_t kBytes = kElements * sizeof(float);

__global__ void AddUp(const float* data, float* sums, std::uint64_t wait_ns, std::uint32_t* flag,
                      std::uint32_t request) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  float sum = data[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0U, sum, offset);
  sums[threadIdx.x] = sum;
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < wait_ns);
  if (flag == nullptr) return;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *static_cast<volatile std::uint32_t*>(flag) = request;
}

__global__ void RaiseFlag(std::uint32_t* flag, std::uint32_t request) {
  *static_cast<volatile std::uint32_t*>(flag) = request;
}

enum class Way {
  kStreamSync,
  kEventQuery,
  kBlockingEvent,
  kHostFunction,
  kFlagBehind,
  kFlagOfKernel
};
struct NamedWay {
  Way way;
  const char* name;
};
constexpr std::array<NamedWay, 6> kWays = {{
    {Way::kStreamSync, "cudaStreamSynchronize"},
    {Way::kEventQuery, "cudaEventQuery, asked again and again"},
    {Way::kBlockingEvent, "cudaEventSynchronize, blocking"},
    {Way::kHostFunction, "host function and condition variable"},
    {Way::kFlagBehind, "mapped flag, raised by a kernel behind"},
    {Way::kFlagOfKernel, "mapped flag and results, written by the kernel"},
}};

// Once raised, by any thread.
class Doorbell {
 public:
  void Ring() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
    ready_.notify_one();
  }
  void Await() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  bool rung_ = false;
};

// One request after the other, on a stream of its own.
class Requests {
 public:
  Requests() {
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    Check(cudaEventCreateWithFlags(&polled_, cudaEventDisableTiming));
    Check(cudaEventCreateWithFlags(&blocking_, cudaEventDisableTiming | cudaEventBlockingSync));
    Check(cudaHostAlloc(&pinned_, 2 * kBytes + sizeof(std::uint32_t), cudaHostAllocDefault));
    Check(cudaMalloc(&d_memory_, 2 * kBytes));
    std::fill_n(pinned_, kElements, 1.0F);
    flag_ = reinterpret_cast<std::uint32_t*>(pinned_ + 2 * kElements);
    *flag_ = 0;
  }
  ~Requests() {
    Check(cudaStreamSynchronize(stream_));
    Check(cudaFree(d_memory_));
    Check(cudaFreeHost(pinned_));
    Check(cudaEventDestroy(blocking_));
    Check(cudaEventDestroy(polled_));
    Check(cudaStreamDestroy(stream_));
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // From the first call until the answer is known to be there.
  Clock::duration Run(Way way, std::chrono::nanoseconds kernel) {
    float* const answer = pinned_ + kElements;
    answer[0] = 0;
    const Clock::time_point begin = Clock::now();
    Enqueue(way, static_cast<std::uint64_t>(kernel.count()));
    Await(way);
    const Clock::duration took = Clock::now() - begin;
    if (answer[0] != 32.0F) {
      std::fprintf(stderr, "bench: the answer is not there: %g\n", static_cast<double>(answer[0]));
      std::exit(1);
    }
    return took;
  }

 private:
  void Enqueue(Way way, std::uint64_t kernel_ns) {
    const bool maps_results = way == Way::kFlagOfKernel;
    float* const d_sums = maps_results ? pinned_ + kElements : d_memory_ + kElements;
    ++request_;
    Check(cudaMemcpyAsync(d_memory_, pinned_, kBytes, cudaMemcpyHostToDevice, stream_));
    AddUp<<<1, kElements, 0, stream_>>>(d_memory_, d_sums, kernel_ns,
                                        maps_results ? flag_ : nullptr, request_);
    Check(cudaGetLastError());
    if (maps_results) return;
    Check(cudaMemcpyAsync(pinned_ + kElements, d_sums, kBytes, cudaMemcpyDeviceToHost, stream_));
    switch (way) {
      case Way::kEventQuery:
        Check(cudaEventRecord(polled_, stream_));
        break;
      case Way::kBlockingEvent:
        Check(cudaEventRecord(blocking_, stream_));
        break;
      case Way::kHostFunction:
        Check(cudaLaunchHostFunc(
            stream_, [](void* doorbell) { static_cast<Doorbell*>(doorbell)->Ring(); }, &doorbell_));
        break;
      case Way::kFlagBehind:
        RaiseFlag<<<1, 1, 0, stream_>>>(flag_, request_);
        Check(cudaGetLastError());
        break;
      case Way::kStreamSync:
      case Way::kFlagOfKernel:
        break;
    }
  }

  void Await(Way way) {
    switch (way) {
      case Way::kStreamSync:
        Check(cudaStreamSynchronize(stream_));
        break;
      case Way::kEventQuery:
        while (cudaEventQuery(polled_) == cudaErrorNotReady) {
        }
        (void)cudaGetLastError();  // not ready is no fault of the calls that follow
        Check(cudaEventQuery(polled_));
        break;
      case Way::kBlockingEvent:
        Check(cudaEventSynchronize(blocking_));
        break;
      case Way::kHostFunction:
        doorbell_.Await();
        break;
      case Way::kFlagBehind:
      case Way::kFlagOfKernel:
        while (std::atomic_ref(*flag_).load(std::memory_order_acquire) != request_) {
        }
        break;
    }
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t polled_ = nullptr;
  cudaEvent_t blocking_ = nullptr;
  float* pinned_ = nullptr;  // what goes, what comes, the flag
  float* d_memory_ = nullptr;
  std::uint32_t* flag_ = nullptr;
  std::uint32_t request_ = 0;
  Doorbell doorbell_;
};

// Of all threads of this process, those of the driver included.
std::chrono::nanoseconds ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

double Us(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

struct Measured {
  std::vector<Clock::duration> latencies;
  std::chrono::nanoseconds processor{0};

  double QuantileUs(double part) {
    const auto at = latencies.begin() +
                    static_cast<std::ptrdiff_t>(part * static_cast<double>(latencies.size() - 1));
    std::nth_element(latencies.begin(), at, latencies.end());
    return Us(*at);
  }
};

nlohmann::json Compare(Requests& requests, std::chrono::microseconds kernel, int rounds,
                       int repeats) {
  std::array<Measured, kWays.size()> measured;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t w = 0; w < kWays.size(); ++w) {
      requests.Run(kWays[w].way, kernel);  // not counted: the way before it warmed other paths
      const std::chrono::nanoseconds before = ProcessorTime();
      for (int i = 0; i < repeats; ++i) {
        measured[w].latencies.push_back(requests.Run(kWays[w].way, kernel));
      }
      measured[w].processor += ProcessorTime() - before;
    }
  }
  std::printf("\na kernel of %d us\n%-48s %9s %9s %13s\n", static_cast<int>(kernel.count()), "way",
              "p50 us", "p99 us", "processor us");
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t w = 0; w < kWays.size(); ++w) {
    const double processor_us =
        Us(measured[w].processor) / static_cast<double>(measured[w].latencies.size());
    const double p50_us = measured[w].QuantileUs(0.5);
    const double p99_us = measured[w].QuantileUs(0.99);
    std::printf("%-48s %9.1f %9.1f %13.1f\n", kWays[w].name, p50_us, p99_us, processor_us);
    rows.push_back({{"way", kWays[w].name},
                    {"kernel_us", kernel.count()},
                    {"requests", measured[w].latencies.size()},
                    {"p50_us", p50_us},
                    {"p99_us", p99_us},
                    {"processor_us", processor_us}});
  }
  return rows;
}

int Main(int argc, char** argv) {
  Report report;
  int rounds = 20;
  CLI::App app("How a thread should learn that a GPU is done");
  app.add_option("--rounds", rounds, "Turns of every way to wait")->capture_default_str();
  report.AddFlags(app);
  CLI11_PARSE(app, argc, argv);
  const cudaDeviceProp gpu = RequireGpu();
  Requests requests;
  for (const auto& [kernel_us, repeats] : {std::pair(0, 500), std::pair(1000, 30)}) {
    const nlohmann::json rows =
        Compare(requests, std::chrono::microseconds(kernel_us), rounds, repeats);
    report.results.insert(report.results.end(), rows.begin(), rows.end());
  }
  report.Write(gpu, argc, argv);
  return 0;
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) { return warpfold::bench::Main(argc, argv); }
