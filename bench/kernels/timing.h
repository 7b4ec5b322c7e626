// How the kernel benches time: medians over repetitions of a CUDA graph that holds several
// launches on inputs rotated past the L2, contestants taking turns. For one host thread; whatever
// fails ends the process with a message.
#ifndef WARPFOLD_BENCH_KERNELS_TIMING_H_
#define WARPFOLD_BENCH_KERNELS_TIMING_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <source_location>
#include <string_view>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch_plan.h"

namespace warpfold::bench {

// Ends the process unless `error` is cudaSuccess.
inline void Check(cudaError_t error, std::source_location where = std::source_location::current()) {
  if (error == cudaSuccess) return;
  const std::string_view path = where.file_name();
  std::fprintf(stderr, "bench: %s:%u: %s\n", path.substr(path.rfind('/') + 1).data(), where.line(),
               cudaGetErrorString(error));
  std::exit(1);
}

// The first GPU. Ends the process where none answers.
inline cudaDeviceProp RequireGpu() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "bench: no GPU answers\n");
    std::exit(1);
  }
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0));
  return properties;
}

// Of the GPU that RequireGpu gave.
inline cuda::DeviceShape ShapeOfGpu() {
  cuda::DeviceShape shape;
  Check(cuda::GetDeviceShape(0, &shape));
  return shape;
}

struct DeviceBuffer {
  explicit DeviceBuffer(std::size_t bytes) { Check(cudaMalloc(&data, bytes)); }
  ~DeviceBuffer() { (void)cudaFree(data); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data = nullptr;
};

// How many inputs of `bytes` each take turns, and how many launches make a repetition.
struct Rotation {
  explicit Rotation(std::size_t bytes)
      // Past the L2 of 60 MB: at least 256 MiB in rotation, unless one input is larger.
      : inputs(static_cast<int>(std::clamp<std::size_t>((std::size_t{256} << 20) / bytes, 1, 64))),
        launches(static_cast<int>(std::clamp<std::size_t>((std::size_t{8} << 30) / bytes, 4, 256)) /
                     inputs * inputs +
                 inputs) {}

  int inputs;
  int launches;
};

// One contestant: enqueues its work on input `input` and does not wait.
using Launch = std::function<void(int input, cudaStream_t stream)>;

// A graph of launches that take the inputs in turns. REQUIRES: `launch` has run once before: a
// kernel's first launch may load its code, and what that does is not allowed within a capture.
class Timed {
 public:
  Timed(const Launch& launch, const Rotation& rotation, cudaStream_t stream)
      : launches_(rotation.launches) {
    cudaGraph_t graph;
    Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches_; ++i) launch(i % rotation.inputs, stream);
    Check(cudaStreamEndCapture(stream, &graph));
    Check(cudaGraphInstantiate(&exec_, graph, 0));
    Check(cudaGraphDestroy(graph));
    Check(cudaEventCreate(&begin_));
    Check(cudaEventCreate(&end_));
  }
  ~Timed() {
    (void)cudaGraphExecDestroy(exec_);
    (void)cudaEventDestroy(begin_);
    (void)cudaEventDestroy(end_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  // Seconds of one launch.
  double Once(cudaStream_t stream) {
    Check(cudaEventRecord(begin_, stream));
    Check(cudaGraphLaunch(exec_, stream));
    Check(cudaEventRecord(end_, stream));
    Check(cudaEventSynchronize(end_));
    float ms = 0;
    Check(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e-3 / launches_;
  }

 private:
  int launches_;
  cudaGraphExec_t exec_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

inline double Median(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

// Seconds of one launch of each contestant. They take turns, so that a change of the clocks hits
// all of them alike.
inline std::vector<double> MedianSeconds(const std::vector<Launch>& contestants,
                                         const Rotation& rotation, cudaStream_t stream) {
  constexpr int kWarmUps = 2, kRepeats = 15;
  std::deque<Timed> timed;
  for (const Launch& launch : contestants) timed.emplace_back(launch, rotation, stream);
  std::vector<std::vector<double>> seconds(contestants.size());
  for (int repeat = -kWarmUps; repeat < kRepeats; ++repeat) {
    for (std::size_t i = 0; i < timed.size(); ++i) {
      const double once = timed[i].Once(stream);
      if (repeat >= 0) seconds[i].push_back(once);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& of_one : seconds) medians.push_back(Median(of_one));
  return medians;
}

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_TIMING_H_
