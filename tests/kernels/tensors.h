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

#include "kernels/canonical.h"
#include "kernels/plan.h"
#include "tests/kernels/exact/reduction_oracle.h"
#include "tests/kernels/numbers.h"
#include "tests/kernels/reference.h"

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
      const int exponent = std::is_same_v<T, Half> ? static_cast<int>(bits & 15) - 10
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
  // Every bundle gets its turn. Products of random integers do not fit; they have their own test.
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

namespace internal {

// min or max by the contract: NaN wins, -0.0 is below +0.0.
template <typename X>
X Better(X a, X b, bool want_min) {
  if constexpr (std::is_floating_point_v<X>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<X>::quiet_NaN();
    if (a == b) return std::signbit(a) == want_min ? a : b;
  }
  return (a < b) == want_min ? a : b;
}

template <typename T>
using IntegerSum = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
template <typename T>
using FloatResult = std::conditional_t<kIsFloat<T>, T, double>;

// Everything that ops are computed from, by the definitions: for each output, in C order.
template <typename T>
struct Expected {
  std::vector<std::vector<T>> outputs;  // what takes part
  std::vector<std::vector<T>> all;
  std::vector<double> sums, abs_sums, square_sums, products;
  std::vector<reference::MomentsOf::Value> moments;
  double correction = 0;
  bool omits_nan = false;

  std::string Of(Op op, std::size_t o) const {
    const std::vector<T>& x = outputs[o];
    const double count = static_cast<double>(x.size());
    const auto how_many = [&](auto is) {
      return static_cast<std::int64_t>(std::count_if(x.begin(), x.end(), is));
    };
    const auto is_nonzero = [](T e) { return Number(e) != 0; };
    const auto norm = [](double value) { return BytesOf<FloatResult<T>>(value); };
    switch (op) {
      case Op::kMin:
      case Op::kMax: {
        if (x.empty()) return norm(std::nan(""));
        auto best = Number(x[0]);
        for (const T e : x) best = Better(best, Number(e), op == Op::kMin);
        return BytesOf<T>(best);
      }
      case Op::kSum:
      case Op::kMean:
      case Op::kL1Norm:
        return SumLike(op, o);
      case Op::kProd:
        return ProductOf(o);
      case Op::kVar:
      case Op::kStd: {
        const double divisor = std::max(count - correction, 0.0);
        const double variance = omits_nan && kIsFloat<T> && divisor == 0
                                    ? std::nan("")
                                    : SquaredDeviations(o) / divisor;
        return norm(op == Op::kVar ? variance : std::sqrt(variance));
      }
      case Op::kL2Norm:
        return norm(std::sqrt(kSmallInteger ? static_cast<double>(Squares(o)) : square_sums[o]));
      case Op::kCountNonzero:
        return BytesOf<std::int64_t>(how_many(is_nonzero));
      case Op::kAny:
        return BytesOf<Bool>(how_many(is_nonzero) > 0);
      case Op::kAll:
        return BytesOf<Bool>(how_many(is_nonzero) == static_cast<std::int64_t>(x.size()));
      case Op::kNanCount:
        return BytesOf<std::int64_t>(std::count_if(all[o].begin(), all[o].end(), IsNanElement));
      case Op::kArgMin:
      case Op::kArgMax:
        return BytesOf<std::int64_t>(IndexOfBest(o, op == Op::kArgMin));
      case Op::kInfCount:
        return BytesOf<std::int64_t>(
            how_many([](T e) { return std::isinf(static_cast<double>(Number(e))); }));
    }
    return "";
  }

  static constexpr bool kSmallInteger = !kIsFloat<T> && sizeof(T) <= 2;

  // Exact.
  reference::Quad Squares(std::size_t o) const {
    reference::Wide squares = 0;
    for (const T e : outputs[o]) squares += static_cast<reference::Wide>(Number(e) * Number(e));
    return static_cast<reference::Quad>(squares);
  }

  double SquaredDeviations(std::size_t o) const {
    if constexpr (kSmallInteger) {
      reference::Wide sum = 0;
      for (const T e : outputs[o]) sum += Number(e);
      const reference::Quad count = static_cast<reference::Quad>(outputs[o].size());
      const reference::Quad square = static_cast<reference::Quad>(sum * sum);
      return static_cast<double>(count * Squares(o) - square) / static_cast<double>(count);
    } else {
      return moments[o].squares;
    }
  }

  static bool IsNanElement(T x) { return std::isnan(static_cast<double>(Number(x))); }

  // NumPy's: the first of equal ones, the first NaN before any number; -1 of nothing.
  std::int64_t IndexOfBest(std::size_t o, bool want_min) const {
    const std::vector<T>& x = all[o];
    std::int64_t best = -1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (IsNanElement(x[i]) && omits_nan) continue;
      if (IsNanElement(x[i])) return static_cast<std::int64_t>(i);
      const auto number = Number(x[i]);
      const auto best_number = Number(x[static_cast<std::size_t>(std::max<std::int64_t>(best, 0))]);
      if (best < 0 || (want_min ? number < best_number : number > best_number)) {
        best = static_cast<std::int64_t>(i);
      }
    }
    return best;
  }

  std::string SumLike(Op op, std::size_t o) const {
    const double count = static_cast<double>(outputs[o].size());
    if constexpr (kIsFloat<T>) {
      if (op == Op::kL1Norm) return BytesOf<T>(abs_sums[o]);
      return BytesOf<T>(op == Op::kSum ? sums[o] : sums[o] / count);
    } else {
      reference::Wide sum = 0, magnitude = 0;
      for (const T e : outputs[o]) {
        sum += Number(e);
        magnitude += Number(e) < 0 ? -Number(e) : Number(e);
      }
      if (op == Op::kSum) return BytesOf<IntegerSum<T>>(sum);
      const reference::Quad exact = op == Op::kL1Norm ? magnitude : sum;
      return BytesOf<double>(op == Op::kL1Norm ? static_cast<double>(exact)
                                               : static_cast<double>(exact) / count);
    }
  }

  // REQUIRES, of integers: the product fits.
  std::string ProductOf(std::size_t o) const {
    if constexpr (kIsFloat<T>) {
      return BytesOf<T>(products[o]);
    } else {
      reference::Wide product = 1;
      for (const T e : outputs[o]) product *= Number(e);
      return BytesOf<IntegerSum<T>>(product);
    }
  }
};

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

// The results that every backend must give, as bytes, one string an op.
template <typename T>
std::vector<std::string> ExpectedResults(const Plan& plan, const ReduceSpec& spec,
                                         const std::vector<T>& data) {
  if (kServesExactSums) {
    std::vector<std::string> results;
    for (Answer& answer : ReductionAnswers(spec, data.data())) {
      results.push_back(std::move(answer.bytes));
    }
    return results;
  }
  std::vector<bool> reduced(spec.shape.size(), spec.axes.empty());
  for (const std::int64_t axis : spec.axes) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(spec.shape.size())
                                              : axis)] = true;
  }
  internal::Expected<T> expected;
  expected.all = GatherOutputs(plan, spec, reduced, data);
  expected.outputs = expected.all;
  expected.omits_nan = spec.nan_policy == NanPolicy::kOmit;
  if (expected.omits_nan) {
    for (std::vector<T>& x : expected.outputs)
      std::erase_if(x, internal::Expected<T>::IsNanElement);
  }
  expected.correction = static_cast<double>(spec.correction);
  std::vector<double> numbers;
  for (const T x : data) numbers.push_back(static_cast<double>(Number(x)));
  // Only what is asked for: a walk takes its time.
  const auto walk = [&](auto adder, std::initializer_list<Op> for_ops, auto& values) {
    const bool wanted = std::any_of(for_ops.begin(), for_ops.end(), [&](Op op) {
      return std::find(spec.ops.begin(), spec.ops.end(), op) != spec.ops.end();
    });
    if (!wanted) return;
    using Adder = decltype(adder);
    values = expected.omits_nan
                 ? reference::Canonical<reference::Omitting<Adder>>(numbers, sizeof(T), spec.shape,
                                                                    reduced)
                       .All()
                 : reference::Canonical<Adder>(numbers, sizeof(T), spec.shape, reduced).All();
  };
  if constexpr (kIsFloat<T>) {
    walk(reference::SumOf{}, {Op::kSum, Op::kMean}, expected.sums);
    walk(reference::AbsSumOf{}, {Op::kL1Norm}, expected.abs_sums);
    walk(reference::ProductOf{}, {Op::kProd}, expected.products);
  }
  walk(reference::SquareSumOf{}, {Op::kL2Norm}, expected.square_sums);
  walk(reference::MomentsOf{}, {Op::kVar, Op::kStd}, expected.moments);
  std::vector<std::string> results;
  for (const Op op : spec.ops) {
    std::string bytes;
    for (std::size_t o = 0; o < expected.outputs.size(); ++o) bytes += expected.Of(op, o);
    results.push_back(bytes);
  }
  return results;
}

}  // namespace warpfold::testing

#endif  // WARPFOLD_TESTS_KERNELS_TENSORS_H_
