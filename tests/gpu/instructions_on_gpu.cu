#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>

#include "kernels/cuda/instructions.cuh"
#include "tests/gpu/instructions_on_gpu.h"

namespace warpfold::cuda {
namespace {

void Check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <typename T>
class OnGpu {
 public:
  explicit OnGpu(std::size_t count) : count_(count) {
    Check(cudaMalloc(&data_, count * sizeof(T)));
  }
  explicit OnGpu(const std::vector<T>& values) : OnGpu(values.size()) {
    Check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() { cudaFree(data_); }

  T* data() const { return data_; }
  std::vector<T> Fetch() const {
    std::vector<T> values(count_);
    Check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

template <typename From, typename To, class Map>
__global__ void Apply(const From* from, To* to, std::size_t count, Map map) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) to[i] = map(from, i);
}

template <typename To, typename From, class Map>
std::vector<To> Applied(const std::vector<From>& from, Map map) {
  constexpr unsigned kThreads = 256;
  const OnGpu<From> input(from);
  const OnGpu<To> output(from.size());
  const auto blocks = static_cast<unsigned>((from.size() + kThreads - 1) / kThreads);
  Apply<<<blocks, kThreads>>>(input.data(), output.data(), from.size(), map);
  Check(cudaGetLastError());
  return output.Fetch();
}

struct LiftPairOf {
  __device__ std::uint32_t operator()(const std::uint32_t* from, std::size_t i) const {
    return LiftE4M3Pair(from[i]);
  }
};
struct LiftOf {
  __device__ std::uint16_t operator()(const F8E4M3* from, std::size_t i) const {
    return Lift(from[i]).bits;
  }
};
template <bool kIsMin, bool kOmitsNan, typename T>
struct ExtremeOf {
  const T* other;
  __device__ T operator()(const T* from, std::size_t i) const {
    if constexpr (std::is_same_v<T, std::uint32_t>) {
      return ExtremePair<kIsMin, kOmitsNan>(from[i], other[i]);
    } else {
      return Extreme<kIsMin, kOmitsNan>(from[i], other[i]);
    }
  }
};

template <typename T>
std::vector<T> ExtremesOf(Which which, const std::vector<T>& a, const std::vector<T>& b) {
  const OnGpu<T> other(b);
  if (which.is_min && which.omits_nan) {
    return Applied<T>(a, ExtremeOf<true, true, T>{other.data()});
  }
  if (which.is_min) return Applied<T>(a, ExtremeOf<true, false, T>{other.data()});
  if (which.omits_nan) return Applied<T>(a, ExtremeOf<false, true, T>{other.data()});
  return Applied<T>(a, ExtremeOf<false, false, T>{other.data()});
}

}  // namespace

std::vector<std::uint32_t> LiftE4M3Pairs(const std::vector<std::uint32_t>& pairs) {
  return Applied<std::uint32_t>(pairs, LiftPairOf());
}

std::vector<std::uint16_t> LiftAll(const std::vector<F8E4M3>& elements) {
  return Applied<std::uint16_t>(elements, LiftOf());
}

std::vector<std::uint32_t> ExtremePairs(Which which, const std::vector<std::uint32_t>& a,
                                        const std::vector<std::uint32_t>& b) {
  return ExtremesOf(which, a, b);
}

template <typename T>
std::vector<T> Extremes(Which which, const std::vector<T>& a, const std::vector<T>& b) {
  return ExtremesOf(which, a, b);
}
template std::vector<float> Extremes(Which, const std::vector<float>&, const std::vector<float>&);
template std::vector<Half> Extremes(Which, const std::vector<Half>&, const std::vector<Half>&);
template std::vector<BFloat16> Extremes(Which, const std::vector<BFloat16>&,
                                        const std::vector<BFloat16>&);

}  // namespace warpfold::cuda
