#include <gmpxx.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/kernels/exact/adversarial.h"
#include "tests/kernels/exact/draw.h"
#include "tests/kernels/exact/oracle.h"
#include "tests/kernels/exact/reduction_oracle.h"

namespace warpfold::testing {
namespace {

using Elements = std::vector<std::uint64_t>;

class FloatMaker {
 public:
  FloatMaker(const Format& format, std::size_t count, std::mt19937_64& random)
      : format_(format), count_(count), draw_(random) {}

  Elements Make(HardFloat kind) {
    switch (kind) {
      case HardFloat::kNormal:
        return Each([&] { return Nearest(draw_.Normal()); });
      case HardFloat::kEightyBinades:
        return Each([&] { return WithinBinades(40); });
      case HardFloat::k270Binades:
        return Each([&] { return WithinBinades(135); });
      case HardFloat::kAllBinades:
        return Each([&] { return Finite(0, Last()); });
      case HardFloat::kSubnormals:
        return Each([&] { return Finite(0, draw_.OneIn(8) ? 3 : 0); });
      case HardFloat::kCancellingPairs:
        return Padded({WithinBinades(40)}, true);
      case HardFloat::kSumTie:
      case HardFloat::kBesideSumTie:
        return SumTie(1, kind == HardFloat::kBesideSumTie);
      case HardFloat::kMeanTie:
      case HardFloat::kBesideMeanTie:
        return SumTie(static_cast<long>(count_), kind == HardFloat::kBesideMeanTie);
      case HardFloat::kL2NormTie:
      case HardFloat::kAboveL2NormTie:
        return L2NormTie(kind == HardFloat::kAboveL2NormTie);
      case HardFloat::kVarianceTie:
        return VarianceTie();
      case HardFloat::kStdTie:
        return StdTie();
      case HardFloat::kProductTie:
        return ProductTie();
      case HardFloat::kNearOne:
        return Each([&] { return Signed(Power(0) + draw_.UpTo(6) - 3); });
      case HardFloat::kSignedZeros:
        return Each([&] { return Signed(0); });
      case HardFloat::kNegativeZeros:
        return Each([&] { return format_.SignBit(); });
      case HardFloat::kHuge: {
        const bool one_sign = draw_.OneIn(2);
        const std::uint64_t sign = Signed(0);
        return Each([&] {
          const std::uint64_t x = Finite(Last() - 2, Last());
          return one_sign ? (x & ~format_.SignBit()) | sign : x;
        });
      }
      case HardFloat::kOneHugeATile: {
        Elements x = Make(HardFloat::kNormal);
        for (std::size_t tile = 0; tile < count_; tile += 1024) {
          x[tile + draw_.UpTo(std::min<std::size_t>(1024, count_ - tile) - 1)] =
              Finite(Last(), Last());
        }
        return x;
      }
      case HardFloat::kSpecials:
        return Specials();
      case HardFloat::kConstant:
      case HardFloat::kOffset: {
        // Larger than 1, and neither 1's nor the largest binade.
        const std::uint64_t base = Finite(Last() / 2 + 1, Last() - 1);
        // Not past the next binade.
        const std::uint64_t most =
            std::min((std::uint64_t{1} << (format_.precision - 1)) - 1, std::uint64_t{7});
        return Each([&] { return base + (kind == HardFloat::kOffset ? draw_.UpTo(most) : 0); });
      }
    }
    std::abort();
  }

 private:
  // The largest exponent field of a number.
  long Last() const { return (1l << format_.exponent_bits) - 2; }
  // The exponent of the last place of the largest binade.
  long LastUlp() const { return Last() - 1 + format_.lowest_exponent; }
  std::uint64_t Signed(std::uint64_t bits) {
    return draw_.OneIn(2) ? bits | format_.SignBit() : bits;
  }
  std::uint64_t Negated(std::uint64_t bits) const { return bits ^ format_.SignBit(); }
  std::uint64_t Nearest(double x) const {
    return NearestBits(mpq_class(x), format_) | (std::signbit(x) ? format_.SignBit() : 0);
  }
  // x * 2^exponent, which is a number of the type.
  std::uint64_t Exactly(const mpz_class& x, long exponent) const {
    return NearestBits(abs(x), 1, exponent, format_) | (x < 0 ? format_.SignBit() : 0);
  }
  std::uint64_t Power(long exponent) const { return Exactly(1, exponent); }

  // Any number with a field of the exponent in [first, last].
  std::uint64_t Finite(long first, long last) {
    const int stored = format_.precision - 1;
    const auto field = static_cast<std::uint64_t>(draw_.Between(first, last));
    const std::uint64_t mantissa = draw_.Bits() >> (64 - stored);
    // Without infinities the field above the last has numbers, too, and one NaN.
    if (!format_.has_infinities && last == Last() && draw_.OneIn(4)) {
      return Signed(std::min(static_cast<std::uint64_t>(last + 1) << stored | mantissa,
                             format_.InfinityBits() - 1));
    }
    return Signed(field << stored | mantissa);
  }
  std::uint64_t WithinBinades(long to_each_side) {
    const long of_one = (Last() + 1) / 2;
    return Finite(std::max(of_one - to_each_side, 1l), std::min(of_one + to_each_side, Last()));
  }

  template <class Make>
  Elements Each(const Make& make) {
    Elements x(count_);
    std::generate(x.begin(), x.end(), make);
    return x;
  }

  // `some` in any places among zeros, or among pairs that cancel.
  Elements Padded(Elements some, bool with_pairs) {
    if (some.size() > count_) return Make(HardFloat::kEightyBinades);
    while (some.size() < count_) {
      if (with_pairs && some.size() + 2 <= count_) {
        some.push_back(WithinBinades(135));
        some.push_back(Negated(some.back()));
      } else {
        some.push_back(Signed(0));
      }
    }
    draw_.Shuffle(some);
    return some;
  }

  // Whose sum over `divisor` is a number and half of its last place.
  Elements SumTie(long divisor, bool is_beside) {
    const int divisor_bits = std::bit_width(static_cast<std::uint64_t>(divisor));
    // Of even divisors sometimes a subnormal number, whose half last place no element is.
    if (LastUlp() - divisor_bits <= format_.lowest_exponent) return Make(HardFloat::kEightyBinades);
    const bool is_subnormal = divisor % 2 == 0 && draw_.OneIn(4);
    const long leading = is_subnormal ? 0 : 1l << (format_.precision - 1);
    const mpz_class number = leading + draw_.Between(0, (1l << (format_.precision - 1)) - 1);
    const long ulp = is_subnormal
                         ? format_.lowest_exponent
                         : draw_.Between(format_.lowest_exponent + 1, LastUlp() - divisor_bits);
    Elements x;
    for (int bit = 0; bit < divisor_bits; ++bit) {
      if ((divisor >> bit & 1) == 0) continue;
      x.push_back(Exactly(number, ulp + bit));
      x.push_back(Power(ulp - 1 + bit));
    }
    if (draw_.OneIn(2)) {
      for (std::uint64_t& bits : x) bits = Negated(bits);
    }
    if (is_beside) x.push_back(Signed(1));
    return Padded(x, draw_.OneIn(2));
  }

  // Two numbers whose squares add up to that of one with a bit more than the type has.
  Elements L2NormTie(bool is_above) {
    const long limit = 1l << format_.precision;
    const long roots = 1l << (format_.precision + 3) / 2;
    long u, v, norm;
    do {
      u = draw_.Between(1, roots);
      v = draw_.Between(1, roots);
      norm = u * u + v * v;
    } while (norm < limit || norm >= 2 * limit || norm % 2 == 0 ||
             std::labs(u * u - v * v) >= limit);
    const long exponent = draw_.Between(format_.lowest_exponent, LastUlp() - 1);
    Elements x = {Signed(Exactly(u * u - v * v, exponent)), Signed(Exactly(2 * u * v, exponent))};
    if (is_above) x.push_back(Signed(1));
    return Padded(x, false);
  }

  // Half of the elements one number, half another; of odd counts one is in the middle.
  Elements Halves(const mpz_class& low, const mpz_class& high, long exponent) {
    Elements x;
    while (x.size() + 1 < count_) {
      x.push_back(Exactly(low, exponent));
      x.push_back(Exactly(high, exponent));
    }
    if (x.size() < count_) x.push_back(Exactly((low + high) / 2, exponent));
    draw_.Shuffle(x);
    return x;
  }

  // The mean and as much above as below it, whose square has a bit more than the type.
  Elements VarianceTie() {
    const mpz_class limit = mpz_class(1) << format_.precision;
    mpz_class apart;
    do {
      apart = 2 * draw_.Between(0, 1l << (format_.precision + 1) / 2) + 1;
    } while (apart * apart < limit || apart * apart >= 2 * limit);
    const mpz_class mean = draw_.Between(0, mpz_class(limit - apart - 1).get_si());
    const long exponent = draw_.Between(
        std::max(format_.lowest_exponent / 2, format_.lowest_exponent), (LastUlp() - 1) / 2);
    return Halves(mean - apart, mean + apart, exponent);
  }

  // Two numbers whose difference has a bit more than the type.
  Elements StdTie() {
    const long limit = 1l << format_.precision;
    long low, high;
    do {
      low = 2 * draw_.Between(-limit / 2, limit / 2 - 1) + 1;
      high = 2 * draw_.Between(limit / 2, limit - 1);
    } while (high - low < limit || high - low >= 2 * limit);
    return Halves(low, high, draw_.Between(format_.lowest_exponent + 1, LastUlp() - 1));
  }

  // Two odd factors whose product has a bit more than the type, and powers of 2.
  Elements ProductTie() {
    const long limit = 1l << format_.precision;
    long a, b;
    do {
      a = 2 * draw_.Between(1, 1l << (format_.precision / 2)) + 1;
      b = draw_.Between(limit / a + 1, (2 * limit - 1) / a) | 1;
    } while (a * b >= 2 * limit);
    if (count_ < 2) return Make(HardFloat::kNearOne);
    Elements x = {Signed(Exactly(a, -3)), Signed(Exactly(b, -format_.precision))};
    for (long exponent = 0; x.size() < count_;) {
      const long step = exponent > 2 ? -1 : exponent < -2 ? 1 : draw_.Between(-2, 2);
      exponent += step;
      x.push_back(Signed(Power(step)));
    }
    draw_.Shuffle(x);
    return x;
  }

  Elements Specials() {
    const auto nan = [&] {
      const std::uint64_t payload = draw_.Bits() >> (65 - format_.precision);
      return Signed(format_.InfinityBits() | std::max<std::uint64_t>(payload, 1));
    };
    if (draw_.OneIn(8)) return Each(nan);
    Elements x = Make(HardFloat::kEightyBinades);
    const std::uint64_t kinds = 1 + draw_.UpTo(14);  // a bit each
    const int one_in = draw_.OneIn(2) ? 4 : 100;
    for (std::uint64_t& bits : x) {
      if (!draw_.OneIn(one_in)) continue;
      if ((kinds & 1) != 0 && draw_.OneIn(2)) bits = nan();
      if ((kinds & 2) != 0 && draw_.OneIn(2)) bits = format_.InfinityBits();
      if ((kinds & 4) != 0 && draw_.OneIn(2)) bits = format_.InfinityBits() | format_.SignBit();
      if ((kinds & 8) != 0 && draw_.OneIn(2)) bits = Signed(0);
    }
    return x;
  }

  const Format& format_;
  const std::size_t count_;
  Draw draw_;
};

}  // namespace

std::vector<std::uint64_t> HardFloats(DType dtype, HardFloat kind, std::size_t count,
                                      std::mt19937_64& random) {
  return FloatMaker(FormatOfFloat(dtype), count, random).Make(kind);
}

}  // namespace warpfold::testing
