// Those that the kernel benches compare: warpfold's own fold and CUB's reductions. All enqueue on a
// stream and keep their results and scratch on the device.
#ifndef WARPFOLD_BENCH_KERNELS_CONTESTANTS_CUH_
#define WARPFOLD_BENCH_KERNELS_CONTESTANTS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstddef>
#include <cstdint>
#include <cub/cub.cuh>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/kernels/timing.h"
#include "kernels/cuda/reduce.h"
#include "kernels/dtypes/catalogue.h"
#include "kernels/extent.h"
#include "kernels/ops/catalogue.h"
#include "kernels/types.h"

namespace warpfold::bench {

// The same elements as CUB knows them. Floats of 8 bits it reduces as f32.
template <typename T>
using CubElement =
    std::conditional_t<std::is_same_v<T, Half>, __half,
                       std::conditional_t<std::is_same_v<T, BFloat16>, __nv_bfloat16,
                                          std::conditional_t<kIsLifted<T>, float, T>>>;

// An element's float, as CUDA converts it.
template <typename T>
struct ToFloat {
  __host__ __device__ float operator()(const T& x) const {
    constexpr bool kIsE4M3 = std::is_same_v<T, F8E4M3>;
    std::conditional_t<kIsE4M3, __nv_fp8_e4m3, __nv_fp8_e5m2> as_cuda;
    as_cuda.__x = x.bits;
    return static_cast<float>(as_cuda);
  }
};

// `d_in` as CUB takes it.
template <typename T>
auto CubInput(const T* d_in) {
  if constexpr (kIsLifted<T>) {
    return thrust::make_transform_iterator(d_in, ToFloat<T>{});
  } else {
    return reinterpret_cast<const CubElement<T>*>(d_in);
  }
}

// All of `ops` over `extent`: in one pass, and in another one for the product of floats. Outputs
// that are then undecided are counted, and not summed again.
template <typename T>
class Warpfold {
 public:
  Warpfold(std::vector<Op> ops, const Extent& extent, const cuda::DeviceShape& device)
      : ops_(std::move(ops)),
        job_{kDTypeOf<T>, FusedOpSetFor(kDTypeOf<T>, WithoutProduct(ops_), NanPolicy::kPropagate),
             device},
        extent_(extent),
        scratch_(ScratchBytes() + 1),
        results_(kResultsAt + ops_.size() * ResultBytes()) {
    const Overflow none;
    Check(cudaMemset(results_.data, 0, kResultsAt));
    Check(cudaMemcpy(results_.data, &none, sizeof(none), cudaMemcpyHostToDevice));
    output_.overflow = static_cast<Overflow*>(results_.data);
    output_.undecided.counts =
        reinterpret_cast<UndecidedCounts*>(static_cast<char*>(results_.data) + kUndecidedAt);
    output_.targets.reduced_count = extent.count;
    output_.targets.reduced_run_count = 1;
    output_.targets.reduced_runs[0] = {extent.inner, extent.count};
    output_.targets.count = static_cast<int>(ops_.size());
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      output_.targets.ops[i] = ops_[i];
      output_.targets.arrays[i] = ResultsOf(i);
    }
  }

  void Enqueue(const T* d_in, cudaStream_t stream) const {
    Check(cuda::FoldElements(job_, d_in, extent_, output_, scratch_.data, stream));
    if (WithoutProduct(ops_).size() == ops_.size()) return;
    cuda::Job product = job_;
    product.is_product = true;
    Check(cuda::FoldElements(product, d_in, extent_, output_, scratch_.data, stream));
  }

  // Undecided outputs of all launches so far, which have ended.
  std::int64_t UndecidedCount() const {
    UndecidedCounts counts;
    Check(cudaMemcpy(&counts, output_.undecided.counts, sizeof(counts), cudaMemcpyDeviceToHost));
    return counts.all;
  }

  // The first op's result number `index`, an integer sum wrapped to T as CUB's does. Of a launch
  // that has ended.
  double Answer(std::int64_t index = 0) const {
    if constexpr (std::is_integral_v<T>) {
      if (ops_[0] == Op::kSum)
        return static_cast<double>(static_cast<T>(Read<std::int64_t>(index)));
    }
    return VisitDType(ResultDType(ops_[0], kDTypeOf<T>), [&](auto tag) {
      return static_cast<double>(Widen(Read<typename decltype(tag)::type>(index)));
    });
  }

 private:
  static std::vector<Op> WithoutProduct(std::vector<Op> ops) {
    if (kIsFloat<T>) std::erase(ops, Op::kProd);
    return ops;
  }
  // The overflow record comes first, then the results, each op's on a line of its own.
  static constexpr std::size_t kResultsAt = 256;
  static constexpr std::size_t kUndecidedAt = 128;
  std::size_t ScratchBytes() const {
    cuda::Job product = job_;
    product.is_product = kIsFloat<T>;
    return std::max(cuda::ElementsScratchBytes(job_, extent_),
                    cuda::ElementsScratchBytes(product, extent_));
  }
  std::size_t ResultBytes() const {
    return (static_cast<std::size_t>(extent_.outputs()) * 8 + 63) / 64 * 64;
  }
  char* ResultsOf(std::size_t op) const {
    return static_cast<char*>(results_.data) + kResultsAt + ResultBytes() * op;
  }
  template <typename Result>
  Result Read(std::int64_t index) const {
    Result result{};
    Check(cudaMemcpy(&result, reinterpret_cast<Result*>(ResultsOf(0)) + index, sizeof(result),
                     cudaMemcpyDeviceToHost));
    return result;
  }

  std::vector<Op> ops_;
  cuda::Job job_;
  Extent extent_;
  Output output_;
  DeviceBuffer scratch_;
  DeviceBuffer results_;
};

// `op` over `count` elements: SUM, MIN, MAX, ARGMIN or ARGMAX.
template <typename T>
class Cub {
 public:
  Cub(Op op, std::int64_t count)
      : op_(op), count_(count), temp_bytes_(TempBytes()), temp_(temp_bytes_ + 1) {}

  void Enqueue(const T* d_in, cudaStream_t stream) const {
    std::size_t bytes = temp_bytes_;
    Check(Call(temp_.data, bytes, d_in, stream));
  }

  // Of a launch that has ended.
  double Answer() const {
    if (op_ == Op::kArgMin || op_ == Op::kArgMax) {
      std::int64_t index = 0;
      Check(cudaMemcpy(&index, IndexAt(), sizeof(index), cudaMemcpyDeviceToHost));
      return static_cast<double>(index);
    }
    std::conditional_t<kIsLifted<T>, float, T> answer{};
    Check(cudaMemcpy(&answer, result_.data, sizeof(answer), cudaMemcpyDeviceToHost));
    return static_cast<double>(Widen(answer));
  }

 private:
  cudaError_t Call(void* temp, std::size_t& bytes, const T* d_in, cudaStream_t stream) const {
    using E = CubElement<T>;
    const auto in = CubInput(d_in);
    E* out = static_cast<E*>(result_.data);
    if (op_ == Op::kSum) return cub::DeviceReduce::Sum(temp, bytes, in, out, count_, stream);
    if (op_ == Op::kArgMin) {
      return cub::DeviceReduce::ArgMin(temp, bytes, in, out, IndexAt(), count_, stream);
    }
    if (op_ == Op::kArgMax) {
      return cub::DeviceReduce::ArgMax(temp, bytes, in, out, IndexAt(), count_, stream);
    }
    if (op_ == Op::kMin) return cub::DeviceReduce::Min(temp, bytes, in, out, count_, stream);
    return cub::DeviceReduce::Max(temp, bytes, in, out, count_, stream);
  }
  std::int64_t* IndexAt() const {
    return reinterpret_cast<std::int64_t*>(static_cast<char*>(result_.data) + 64);
  }
  std::size_t TempBytes() const {
    std::size_t bytes = 0;
    Check(Call(nullptr, bytes, nullptr, nullptr));
    return bytes;
  }

  Op op_;
  std::int64_t count_;
  DeviceBuffer result_{256};
  std::size_t temp_bytes_;
  DeviceBuffer temp_;
};

// Where a row of `columns` elements begins.
struct RowBegin {
  std::int64_t columns;
  __host__ __device__ std::int64_t operator()(std::int64_t row) const { return row * columns; }
};

// SUM of each of `rows` rows of `columns` elements.
template <typename T>
class CubRowSums {
 public:
  CubRowSums(std::int64_t rows, std::int64_t columns)
      : rows_(rows),
        columns_(columns),
        sums_(static_cast<std::size_t>(rows) * sizeof(T)),
        temp_bytes_(TempBytes()),
        temp_(temp_bytes_ + 1) {}

  void Enqueue(const T* d_in, cudaStream_t stream) const {
    std::size_t bytes = temp_bytes_;
    Check(Call(temp_.data, bytes, d_in, stream));
  }

 private:
  cudaError_t Call(void* temp, std::size_t& bytes, const T* d_in, cudaStream_t stream) const {
    using E = CubElement<T>;
    const auto begins = thrust::make_transform_iterator(
        thrust::make_counting_iterator<std::int64_t>(0), RowBegin{columns_});
    return cub::DeviceSegmentedReduce::Sum(temp, bytes, reinterpret_cast<const E*>(d_in),
                                           static_cast<E*>(sums_.data), rows_, begins, begins + 1,
                                           stream);
  }
  std::size_t TempBytes() const {
    std::size_t bytes = 0;
    Check(Call(nullptr, bytes, nullptr, nullptr));
    return bytes;
  }

  std::int64_t rows_, columns_;
  DeviceBuffer sums_;
  std::size_t temp_bytes_;
  DeviceBuffer temp_;
};

// MedianSeconds of contestants that each reduce the `count` elements of an input of `rotation`,
// which lie one after another.
template <typename T, class... Contestants>
std::vector<double> MedianSecondsOf(const T* d_elements, std::int64_t count,
                                    const Rotation& rotation, cudaStream_t stream,
                                    const Contestants&... contestants) {
  return MedianSeconds(
      {[&](int i, cudaStream_t s) { contestants.Enqueue(d_elements + i * count, s); }...}, rotation,
      stream);
}

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_CONTESTANTS_CUH_
