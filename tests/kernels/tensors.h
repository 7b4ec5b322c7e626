// Random tensors and what their reductions must be; shared by the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_KERNELS_TENSORS_H_
#define WARPFOLD_TESTS_KERNELS_TENSORS_H_

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/plan.h"
#include "tests/kernels/reference.h"

namespace warpfold::testing {

// Values whose sum depends on its order: magnitudes over 40 binary orders, signs mixed, and now and
// then a zero of either sign.
template <typename T>
std::vector<T> RandomElements(std::size_t count, std::mt19937_64& random) {
  std::vector<T> x(count);
  for (T& value : x) {
    const std::uint64_t bits = random();
    if constexpr (std::is_floating_point_v<T>) {
      const double mantissa = static_cast<double>(bits >> 12) * 0x1p-52 + 1.0;
      const double scaled = std::ldexp(mantissa, static_cast<int>(bits & 31) - 20);
      value = static_cast<T>((bits & 0xfc0) == 0 ? 0.0 : scaled);
      if (bits & 32) value = -value;
    } else {
      value = static_cast<T>(bits);
    }
  }
  return x;
}

// A random reduction: rank, lengths (with ones and primes among them), axes, about `elements`
// elements in all.
struct Case {
  ReduceSpec spec;
  std::string ToString() const {
    std::string text = std::string(Name(spec.dtype)) + " shape";
    for (const std::int64_t d : spec.shape) text += " " + std::to_string(d);
    text += " axes";
    for (const std::int64_t a : spec.axes) text += " " + std::to_string(a);
    return text;
  }
};

inline Case RandomCase(DType dtype, std::int64_t elements, std::mt19937_64& random) {
  Case result;
  result.spec.dtype = dtype;
  result.spec.ops = {Op::kMax, Op::kSum, Op::kMin, Op::kMean};
  const int rank = static_cast<int>(random() % 5);
  std::int64_t left = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements)));
  for (int d = 0; d < rank; ++d) {
    const std::int64_t length =
        d == rank - 1
            ? left
            : 1 +
                  static_cast<std::int64_t>(std::pow(
                      static_cast<double>(left), static_cast<double>(random() % 1000) / 1000.0)) -
                  1;
    result.spec.shape.push_back(std::max<std::int64_t>(1, length));
    left /= result.spec.shape.back();
    left = std::max<std::int64_t>(left, 1);
  }
  std::shuffle(result.spec.shape.begin(), result.spec.shape.end(), random);
  for (int d = 0; d < rank; ++d) {
    if (random() % 2) result.spec.axes.push_back(random() % 2 ? d : d - rank);
  }
  return result;
}

// The results that every backend must give, as bytes, one string an op.
template <typename T>
std::vector<std::string> ExpectedResults(const Plan& plan, const ReduceSpec& spec,
                                         const std::vector<T>& data);

namespace internal {

template <typename R>
void Append(std::string& bytes, R value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T Quiet(T x) {
  return std::isnan(x) ? std::numeric_limits<T>::quiet_NaN() : x;
}

// min or max by the contract: NaN wins, -0.0 is below +0.0.
template <typename T>
T Better(T a, T b, bool want_min) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) == want_min ? a : b;
  }
  return (a < b) == want_min ? a : b;
}

}  // namespace internal

// Elements of each output, in C order of the reduced axes, by plain index arithmetic.
template <typename T>
std::vector<std::vector<T>> GatherOutputs(const Plan& plan, const ReduceSpec& spec,
                                          const std::vector<bool>& reduced,
                                          const std::vector<T>& data) {
  std::vector<std::vector<T>> outputs(static_cast<std::size_t>(plan.output_count));
  std::vector<std::int64_t> index(spec.shape.size(), 0);
  for (const T& value : data) {
    std::int64_t output = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (!reduced[d]) output = output * spec.shape[d] + index[d];
    }
    outputs[static_cast<std::size_t>(output)].push_back(value);
    for (std::size_t d = index.size(); d-- > 0 && ++index[d] == spec.shape[d];) index[d] = 0;
  }
  return outputs;
}

template <typename T>
std::vector<std::string> ExpectedResults(const Plan& plan, const ReduceSpec& spec,
                                         const std::vector<T>& data) {
  std::vector<bool> reduced(spec.shape.size(), spec.axes.empty());
  for (const std::int64_t axis : spec.axes) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(spec.shape.size())
                                              : axis)] = true;
  }
  const auto outputs = GatherOutputs(plan, spec, reduced, data);
  std::vector<double> sums;
  if constexpr (std::is_floating_point_v<T>) {
    sums = reference::CanonicalSum<T>(data, spec.shape, reduced).All();
  }
  std::vector<std::string> results;
  for (const Op op : spec.ops) {
    std::string bytes;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const std::vector<T>& x = outputs[o];
      const double count = static_cast<double>(x.size());
      if (op == Op::kMin || op == Op::kMax) {
        T best = internal::Better(x[0], x[0], true);
        for (const T value : x) best = internal::Better(best, value, op == Op::kMin);
        internal::Append(bytes, best);
      } else if constexpr (std::is_floating_point_v<T>) {
        const double value = op == Op::kSum ? sums[o] : sums[o] / count;
        internal::Append(bytes, internal::Quiet(static_cast<T>(value)));
      } else {
        reference::Wide sum = 0;
        for (const T value : x) sum += value;
        if (op == Op::kSum) {
          internal::Append(bytes, static_cast<std::int64_t>(sum));
        } else {
          internal::Append(bytes, static_cast<double>(static_cast<reference::Quad>(sum)) / count);
        }
      }
    }
    results.push_back(bytes);
  }
  return results;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_TENSORS_H_
