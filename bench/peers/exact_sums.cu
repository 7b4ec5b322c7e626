// CUB's two sums of floats for exact_sums.py: the reproducible one, which is the same on every GPU
// (determinism gpu_to_gpu), and the plain one (run_to_run). Needs CCCL 3.1 or later, which CUDA
// 13.0 does not have; exact_sums.py says how to compile it.
//
//   exact_sums FILE
//
// FILE holds records: bytes of an element (4 or 8) as u32, a zero as u32, the count of elements as
// u64, what to do as u64, then the elements. 0: sum them. Else: repeat them to so many bytes of
// device memory, and time the sums of those as timing.h does, with inputs rotated past the L2.
// Writes a JSON line about the machine, then one for each record and sum. For one host thread;
// whatever fails ends the process with a message and status 1.
#include <cuda/version>
#if CCCL_VERSION < 3001000
#error "CUB has gpu_to_gpu from CCCL 3.1 on: give -I of a newer one, as exact_sums.py says"
#endif

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_reduce.cuh>
#include <cuda/execution>
#include <cuda/memory_resource>
#include <cuda/std/execution>
#include <cuda/stream>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/kernels/timing.h"

#ifndef CCCL_WHEEL
#define CCCL_WHEEL "unknown"
#endif

namespace warpfold::bench {

[[noreturn]] inline void Fail(const char* why) {
  std::fprintf(stderr, "exact_sums: %s\n", why);
  std::exit(1);
}

// Scratch memory that is there before the sums are timed. CUB asks a resource for it at every call;
// by default that is cudaMallocAsync, which CUB's other interface does not pay for.
class Scratch {
 public:
  Scratch(void* d_data, std::size_t bytes) : d_data_(d_data), bytes_(bytes) {}

  void* allocate(::cuda::stream_ref, std::size_t bytes, std::size_t) { return Take(bytes); }
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}
  void* allocate_sync(std::size_t bytes, std::size_t) { return Take(bytes); }
  void deallocate_sync(void*, std::size_t, std::size_t) noexcept {}
  bool operator==(const Scratch&) const = default;
  friend void get_property(const Scratch&, ::cuda::mr::device_accessible) noexcept {}

 private:
  void* Take(std::size_t bytes) const {
    if (bytes > bytes_) Fail("CUB asks for more scratch memory");
    return d_data_;
  }

  void* d_data_;
  std::size_t bytes_;
};

namespace {

constexpr const char* kPlain = "CUB, run_to_run";
constexpr const char* kReproducible = "CUB, gpu_to_gpu";

// Both sums on buffers of their own.
template <typename T>
class Sums {
 public:
  explicit Sums(std::int64_t count) : count_(count) {
    Check(cub::DeviceReduce::Sum(nullptr, plain_bytes_, static_cast<const T*>(nullptr),
                                 static_cast<T*>(nullptr), count));
    if (plain_bytes_ > kScratchBytes) Fail("CUB asks for more scratch memory");
  }

  void Plain(const T* d_in, cudaStream_t stream) {
    Check(cub::DeviceReduce::Sum(scratch_.data, plain_bytes_, d_in, d_result(), count_, stream));
  }

  void Reproducible(const T* d_in, cudaStream_t stream) {
    const auto environment = ::cuda::std::execution::env{
        ::cuda::std::execution::prop{::cuda::get_stream, ::cuda::stream_ref{stream}},
        ::cuda::std::execution::prop{::cuda::mr::get_memory_resource,
                                     Scratch(scratch_.data, kScratchBytes)},
        ::cuda::execution::require(::cuda::execution::determinism::gpu_to_gpu)};
    Check(cub::DeviceReduce::Sum(d_in, d_result(), count_, environment));
  }

  // Waits for the sum that was enqueued last.
  T Result(cudaStream_t stream) {
    T result;
    Check(cudaMemcpyAsync(&result, d_result(), sizeof(T), cudaMemcpyDeviceToHost, stream));
    Check(cudaStreamSynchronize(stream));
    return result;
  }

 private:
  static constexpr std::size_t kScratchBytes = std::size_t{16} << 20;

  T* d_result() { return static_cast<T*>(result_.data); }

  std::int64_t count_;
  std::size_t plain_bytes_ = 0;
  DeviceBuffer scratch_{kScratchBytes};
  DeviceBuffer result_{sizeof(T)};
};

template <typename T>
void PrintSum(int record, const char* name, T sum) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::printf("{\"record\": %d, \"peer\": \"%s\", \"bits\": \"%0*llx\"}\n", record, name,
              static_cast<int>(2 * sizeof(T)),
              static_cast<unsigned long long>(std::bit_cast<Bits>(sum)));
}

template <typename T>
void Sum(int record, const std::vector<T>& elements, cudaStream_t stream) {
  const DeviceBuffer data(elements.size() * sizeof(T));
  Check(cudaMemcpyAsync(data.data, elements.data(), elements.size() * sizeof(T),
                        cudaMemcpyHostToDevice, stream));
  Sums<T> sums(static_cast<std::int64_t>(elements.size()));
  sums.Plain(static_cast<const T*>(data.data), stream);
  PrintSum(record, kPlain, sums.Result(stream));
  sums.Reproducible(static_cast<const T*>(data.data), stream);
  PrintSum(record, kReproducible, sums.Result(stream));
}

template <typename T>
void Time(int record, const std::vector<T>& elements, std::size_t bytes, cudaStream_t stream) {
  const std::size_t count = bytes / sizeof(T);
  const Rotation rotation(bytes);
  const std::size_t all = count * static_cast<std::size_t>(rotation.inputs);
  const DeviceBuffer buffer(all * sizeof(T));
  T* const d_elements = static_cast<T*>(buffer.data);
  for (std::size_t first = 0; first < all; first += elements.size()) {
    Check(cudaMemcpyAsync(d_elements + first, elements.data(),
                          std::min(elements.size(), all - first) * sizeof(T),
                          cudaMemcpyHostToDevice, stream));
  }
  Sums<T> sums(static_cast<std::int64_t>(count));
  const Launch plain = [&](int i, cudaStream_t on) { sums.Plain(d_elements + i * count, on); };
  const Launch reproducible = [&](int i, cudaStream_t on) {
    sums.Reproducible(d_elements + i * count, on);
  };
  plain(0, stream);
  reproducible(0, stream);
  Check(cudaStreamSynchronize(stream));
  const std::vector<double> seconds = MedianSeconds({plain, reproducible}, rotation, stream);
  for (const auto& [name, each] : {std::pair{kPlain, seconds[0]}, {kReproducible, seconds[1]}}) {
    std::printf("{\"record\": %d, \"peer\": \"%s\", \"seconds\": %.9g}\n", record, name, each);
  }
}

struct Header {
  std::uint32_t element_bytes;
  std::uint32_t zero;
  std::uint64_t count;
  std::uint64_t timed_bytes;
};

// The elements that follow a header.
template <typename T>
std::vector<T> Read(std::FILE* file, const Header& header) {
  std::vector<T> elements(header.count);
  if (elements.empty() ||
      std::fread(elements.data(), sizeof(T), elements.size(), file) != elements.size()) {
    Fail("a record ends early, or is empty");
  }
  return elements;
}

template <typename T>
void Run(int record, std::FILE* file, const Header& header, cudaStream_t stream) {
  const std::vector<T> elements = Read<T>(file, header);
  if (header.timed_bytes == 0) {
    Sum(record, elements, stream);
  } else {
    Time(record, elements, header.timed_bytes, stream);
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace warpfold::bench

int main(int argc, char** argv) {
  using namespace warpfold::bench;
  std::FILE* const file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
  if (file == nullptr) {
    std::fprintf(stderr, "usage: exact_sums FILE, which exact_sums.py writes\n");
    return 2;
  }
  const cudaDeviceProp gpu = RequireGpu();
  int driver = 0;
  Check(cudaDriverGetVersion(&driver));
  std::printf(
      "{\"gpu\": \"%s\", \"version\": \"CCCL %d.%d.%d of nvidia-cuda-cccl %s, CUDA %d.%d\", "
      "\"driver_cuda\": %d}\n",
      gpu.name, CCCL_VERSION / 1000000, CCCL_VERSION / 1000 % 1000, CCCL_VERSION % 1000, CCCL_WHEEL,
      CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, driver);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  Header header;
  for (int record = 0; std::fread(&header, sizeof(header), 1, file) == 1; ++record) {
    if (header.element_bytes == sizeof(float)) {
      Run<float>(record, file, header, stream);
    } else {
      Run<double>(record, file, header, stream);
    }
  }
  Check(cudaStreamDestroy(stream));
  std::fclose(file);
  return 0;
}
