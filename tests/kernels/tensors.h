// Random tensors and what their reductions must be; shared by the CPU tests and the GPU tests.
#ifndef WARPFOLD_TESTS_KERNELS_TENSORS_H_
#define WARPFOLD_TESTS_KERNELS_TENSORS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/plan.h"
#include "kernels/tiles.h"
#include "tests/kernels/exact/reduction_oracle.h"
#include "tests/kernels/numbers.h"

namespace warpfold::testing {

// Values whose sum depends on its order: magnitudes over 31 binary orders (of f16 as many as it
// has), signs mixed, and now and then a zero of either sign. Integers of every bit pattern; those
// of 64 bits so small that sums fit.
template <typename T>
std::vector<T> RandomElements(std::size_t count, std::mt19937_64& random) {
  std::vector<T> x(count);
  for (T& value : x) {
    const std::uint64_t bits = random();
    if constexpr (kIsFloat<T>) {
      const double mantissa = static_cast<double>(bits >> 12) * 0x1p-52 + 1.0;
      const int exponent = std::is_same_v<Lifted<T>, Half> ? static_cast<int>(bits & 15) - 10
                                                           : static_cast<int>(bits & 31) - 20;
      const double number = (bits & 0xfc0) == 0 ? 0.0 : std::ldexp(mantissa, exponent);
      value = ElementOf<T>((bits & 32) != 0 ? -number : number);
    } else if constexpr (std::is_same_v<T, Bool>) {
      value = {static_cast<std::uint8_t>(bits & 1)};
    } else {
      value = static_cast<T>(sizeof(T) == 8 ? static_cast<T>(bits) >> 24 : bits);
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
  // Every fused op set gets its turn. Products of random integers do not fit; they have their own
  // test.
  if (random() % 4 == 0) {
    result.spec.ops = {Op::kStd,          Op::kL1Norm, Op::kSum, Op::kVar,      Op::kMin,
                       Op::kCountNonzero, Op::kL2Norm, Op::kAny, Op::kNanCount, Op::kInfCount,
                       Op::kMean,         Op::kAll,    Op::kMax, Op::kArgMin,   Op::kArgMax};
    if (IsFloat(dtype)) {
      result.spec.ops.push_back(Op::kProd);
    }
    result.spec.correction = static_cast<std::int64_t>(random() % 3);
    if (random() % 2) result.spec.nan_policy = NanPolicy::kOmit;
  } else if (random() % 8 == 0) {
    result.spec.ops = {Op::kArgMax, Op::kArgMin};
  }
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

// Makes every fifth element NaN, in a run of every hundred all of them.
template <typename T>
void StrewNan(std::vector<T>& x, std::mt19937_64& random) {
  if constexpr (kIsFloat<T>) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (random() % 5 == 0 || i / 100 % 7 == 3) x[i] = ElementOf<T>(std::nan(""));
    }
  }
}

// Rows of which a third of the tiles are NaN throughout, and in every sixteenth row all of them;
// every other row has larger numbers than those beside it, and all have equal ones.
template <typename T>
std::vector<T> RowsWithTilesOfNan(std::int64_t rows, std::int64_t row_elements,
                                  std::mt19937_64& random) {
  std::vector<T> x;
  for (std::int64_t row = 0; row < rows; ++row) {
    bool is_nan = false;
    for (std::int64_t i = 0; i < row_elements; ++i) {
      if (i % kTileElements<T> == 0) is_nan = random() % 3 == 0 || row % 16 == 5;
      const double number = static_cast<double>(random() % 50 + (row % 2 != 0 ? 50 : 0));
      x.push_back(ElementOf<T>(is_nan ? std::nan("") : number));
    }
  }
  return x;
}

// Rows of numbers of one sign, and somewhere among them an infinity of the other, one of either
// sign, an infinity and a NaN, or none of these.
template <typename T>
std::vector<T> RowsWithInfinities(std::int64_t rows, std::int64_t row_elements,
                                  std::mt19937_64& random) {
  std::vector<T> x;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double sign = row % 2 != 0 ? 1 : -1;
    std::vector<T> elements(static_cast<std::size_t>(row_elements), ElementOf<T>(400 * sign));
    const auto put = [&](double number) {
      elements[random() % elements.size()] = ElementOf<T>(number);
    };
    const std::int64_t kind = row / 2 % 4;
    if (kind < 3) put(-HUGE_VAL * sign);
    if (kind == 1) put(HUGE_VAL * sign);
    if (kind == 2) put(std::nan(""));
    x.insert(x.end(), elements.begin(), elements.end());
  }
  return x;
}

// The results that every backend must give, as bytes, one string an op.
template <typename T>
std::vector<std::string> ExpectedResults(const ReduceSpec& spec, const std::vector<T>& data) {
  std::vector<std::string> results;
  for (Answer& answer : ReductionAnswers(spec, data.data())) {
    results.push_back(std::move(answer.bytes));
  }
  return results;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_TENSORS_H_
