#include "tests/kernels/exact/adversarial.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/ops/catalogue.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold::testing {
namespace {

class IntegerMaker {
 public:
  IntegerMaker(DType dtype, std::size_t count, std::mt19937_64& random)
      : bits_(static_cast<int>(8 * ElementBytes(dtype))),
        is_signed_(ResultDType(Op::kSum, dtype) == DType::kI64),
        count_(count),
        draw_(random) {}

  std::vector<std::uint64_t> Make(HardInteger kind) {
    switch (kind) {
      case HardInteger::kAnyBits:
        return Each([&] { return draw_.Bits(); });
      case HardInteger::kExtremes:
        return Each([&] {
          return draw_.AnyOf<std::uint64_t>({Largest(), Largest() + 1, 0, 1, ~std::uint64_t{0}});
        });
      case HardInteger::kConstant:
      case HardInteger::kOffset: {
        const std::uint64_t base = Largest() / 2 + draw_.UpTo(Largest() / 4);
        return Each([&] { return base + (kind == HardInteger::kOffset ? draw_.UpTo(7) : 0); });
      }
      case HardInteger::kSumFits:
      case HardInteger::kSumDoesNotFit:
        return SumAtTheEdge(kind == HardInteger::kSumFits);
      case HardInteger::kProductFits:
      case HardInteger::kProductDoesNotFit:
        return ProductAtTheEdge(kind == HardInteger::kProductFits);
    }
    std::abort();
  }

 private:
  std::uint64_t Largest() const { return ~std::uint64_t{0} >> (64 - bits_ + (is_signed_ ? 1 : 0)); }

  template <class Make>
  std::vector<std::uint64_t> Each(const Make& make) {
    std::vector<std::uint64_t> x(count_);
    std::generate(x.begin(), x.end(), [&] { return make() & ~std::uint64_t{0} >> (64 - bits_); });
    return x;
  }

  std::vector<std::uint64_t> SumAtTheEdge(bool fits) {
    if (bits_ < 64 || count_ < 2) return Make(HardInteger::kExtremes);
    const bool is_negative = is_signed_ && draw_.OneIn(2);
    std::uint64_t left = Largest() + (is_negative ? 1 : 0);
    std::vector<std::uint64_t> x;
    if (!fits) x.push_back(1);
    while (x.size() + 3 <= count_ && x.size() < 20) {
      x.push_back(draw_.UpTo(left / 2));
      left -= x.back();
    }
    x.push_back(left);
    for (std::uint64_t& element : x) element = is_negative ? 0 - element : element;
    while (is_signed_ && x.size() + 2 <= count_) {
      x.push_back(draw_.UpTo(Largest()));
      x.push_back(0 - x.back());
    }
    x.resize(count_, 0);
    draw_.Shuffle(x);
    return x;
  }

  std::vector<std::uint64_t> ProductAtTheEdge(bool fits) {
    std::vector<std::uint64_t> x;
    if (bits_ >= 32 && draw_.OneIn(2)) {
      // The prime factors of 2^63 - 1 and of 2^64 - 1.
      x = is_signed_ ? std::vector<std::uint64_t>{7, 7, 73, 127, 337, 92737, 649657}
                     : std::vector<std::uint64_t>{3, 5, 17, 257, 641, 65537, 6700417};
      if (!fits) x.push_back(2);
    } else {
      // -2^63 and 2^63, or 2^63 and 2^64.
      for (int left = is_signed_ || fits ? 63 : 64; left > 0;) {
        const int step = std::min(left, bits_ - (is_signed_ ? 2 : 1));
        x.push_back(std::uint64_t{1} << step);
        left -= step;
      }
      if (is_signed_ && fits) x[0] = 0 - x[0];
    }
    if (x.size() > count_) return Make(HardInteger::kExtremes);
    while (x.size() < count_) {
      if (is_signed_ && x.size() + 2 <= count_ && draw_.OneIn(2)) {
        x.insert(x.end(), 2, ~std::uint64_t{0});
      } else {
        x.push_back(1);
      }
    }
    for (std::uint64_t& element : x) element &= ~std::uint64_t{0} >> (64 - bits_);
    draw_.Shuffle(x);
    return x;
  }

  const int bits_;
  const bool is_signed_;
  const std::size_t count_;
  Draw draw_;
};

std::vector<std::uint64_t> AnyHardElements(DType dtype, std::size_t count,
                                           std::mt19937_64& random) {
  const std::uint64_t kind = random();
  if (IsFloat(dtype)) {
    return HardFloats(dtype, kHardFloats[kind % std::size(kHardFloats)], count, random);
  }
  return HardIntegers(dtype, kHardIntegers[kind % std::size(kHardIntegers)], count, random);
}

}  // namespace

std::vector<std::uint64_t> HardIntegers(DType dtype, HardInteger kind, std::size_t count,
                                        std::mt19937_64& random) {
  return IntegerMaker(dtype, count, random).Make(kind);
}

std::vector<char> HardTensor(const ReduceSpec& spec, std::mt19937_64& random) {
  const std::vector<std::size_t> outputs = OutputOfEachElement(spec.shape, spec.axes);
  const std::size_t element_bytes = ElementBytes(spec.dtype);
  std::vector<std::vector<std::size_t>> places;  // by output
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] >= places.size()) places.resize(outputs[i] + 1);
    places[outputs[i]].push_back(i);
  }
  std::vector<char> tensor(outputs.size() * element_bytes);
  for (const std::vector<std::size_t>& of : places) {
    const std::vector<std::uint64_t> elements = AnyHardElements(spec.dtype, of.size(), random);
    for (std::size_t i = 0; i < of.size(); ++i) {
      std::memcpy(&tensor[of[i] * element_bytes], &elements[i], element_bytes);
    }
  }
  return tensor;
}

}  // namespace warpfold::testing
