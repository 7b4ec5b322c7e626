#include "tests/kernels/exact/reduction_oracle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "tests/kernels/exact/expected_divisor.h"
#include "tests/kernels/exact/result_dtype.h"

namespace warpfold::testing {
namespace {

// What an element stands for.
struct Decoded {
  bool is_nan = false;
  bool is_infinite = false;
  bool is_negative = false;     // has the sign, which zeros and infinities have too
  std::uint64_t magnitude = 0;  // times 2^exponent: the absolute value of a finite one
  long exponent = 0;

  bool IsFinite() const { return !is_nan && !is_infinite; }
  bool IsZero() const { return IsFinite() && magnitude == 0; }
  // Orders absolute values. An element with a larger exponent than another's is larger.
  std::pair<long, std::uint64_t> Size() const {
    return {is_infinite ? std::numeric_limits<long>::max() : exponent, magnitude};
  }
};

Decoded Decode(std::uint64_t bits, DType dtype) {
  Decoded number;
  switch (dtype) {
    case DType::kBool:
      number.magnitude = bits != 0 ? 1 : 0;
      return number;
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      number.magnitude = bits;
      return number;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64: {
      const std::uint64_t sign = std::uint64_t{1} << (8 * ElementBytes(dtype) - 1);
      number.is_negative = (bits & sign) != 0;
      // Of two's complement: 2 * sign is 2^64 of 64 bits, as 0.
      number.magnitude = number.is_negative ? 2 * sign - bits : bits;
      return number;
    }
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kF8E4M3:
    case DType::kF8E5M2: {
      const Format& format = FormatOfFloat(dtype);
      const std::uint64_t size = bits & ~format.SignBit();
      const int stored = format.precision - 1;
      number.is_negative = size != bits;
      number.is_nan = format.IsNan(size);
      number.is_infinite = format.IsInfinity(size);
      if (!number.IsFinite()) return number;
      const auto biased = static_cast<long>(size >> stored);
      number.magnitude = size - (static_cast<std::uint64_t>(biased) << stored);
      if (biased != 0) number.magnitude += std::uint64_t{1} << stored;
      number.exponent = format.lowest_exponent + std::max(biased - 1, 0l);
      return number;
    }
  }
  std::abort();
}

// Whether a is below b: of zeros the negative one, unless `zeros_are_equal`. Neither is NaN.
bool IsBelow(const Decoded& a, const Decoded& b, bool zeros_are_equal) {
  if (zeros_are_equal && a.IsZero() && b.IsZero()) return false;
  if (a.is_negative != b.is_negative) return a.is_negative;
  return a.is_negative ? b.Size() < a.Size() : a.Size() < b.Size();
}

// The reduction of one output's elements.
class OutputJudge {
 public:
  OutputJudge(const ReduceSpec& spec, const std::vector<std::uint64_t>& elements)
      : spec_(spec), elements_(elements) {
    for (const std::uint64_t bits : elements) {
      numbers_.push_back(Decode(bits, spec.dtype));
      const Decoded& x = numbers_.back();
      if (x.is_nan) ++nan_count_;
      if (!(x.is_nan && OmitsNan())) taking_part_.push_back(x);
    }
    Sum();
  }

  std::uint64_t ResultBits(Op op) const {
    switch (op) {
      case Op::kSum:
      case Op::kMean:
        return SumBits(op);
      case Op::kL1Norm:
      case Op::kL2Norm:
        return NormBits(op);
      case Op::kVar:
      case Op::kStd:
        return VarianceBits(op);
      case Op::kProd:
        return ProductBits();
      case Op::kMin:
      case Op::kMax: {
        const std::int64_t best = Best(op == Op::kMin, false);
        // Of no elements, and where the best is one.
        if (best < 0 || At(best).is_nan) return Result(Op::kMin).NanBits();
        const std::uint64_t bits = elements_[static_cast<std::size_t>(best)];
        return spec_.dtype == DType::kBool ? At(best).magnitude : bits;
      }
      case Op::kMaxAbs:
        return MaxAbsBits();
      case Op::kPtp:
        return PtpBits();
      case Op::kArgMin:
      case Op::kArgMax:
        return static_cast<std::uint64_t>(Best(op == Op::kArgMin, true));
      case Op::kCountNonzero:
        return Count([](const Decoded& x) { return !x.IsZero(); });
      case Op::kAny:
        return Count([](const Decoded& x) { return !x.IsZero(); }) > 0 ? 1 : 0;
      case Op::kAll:
        return Count([](const Decoded& x) { return x.IsZero(); }) == 0 ? 1 : 0;
      case Op::kNanCount:
        return nan_count_;
      case Op::kInfCount:
        return Count([](const Decoded& x) { return x.is_infinite; });
    }
    std::abort();
  }

  // SUM or PROD of integers.
  mpz_class ExactInteger(Op op) const {
    if (op == Op::kSum) return sum_ << static_cast<mp_bitcnt_t>(unit_);
    mpz_class product = 1;
    for (const Decoded& x : numbers_) product *= InUnits(x, 0);
    return product;
  }

 private:
  bool OmitsNan() const { return spec_.nan_policy == NanPolicy::kOmit; }
  // Of elements that are no integers, or of an op whose result is none.
  const Format& Result(Op op) const { return FormatOfFloat(ExpectedResultDType(op, spec_.dtype)); }
  const Decoded& At(std::int64_t index) const { return numbers_[static_cast<std::size_t>(index)]; }
  bool IsEmpty() const { return taking_part_.empty(); }

  template <class Is>
  std::uint64_t Count(const Is& is) const {
    return static_cast<std::uint64_t>(std::count_if(taking_part_.begin(), taking_part_.end(), is));
  }
  bool Has(bool negative_infinity) const {
    return Count([&](const Decoded& x) {
             return x.is_infinite && x.is_negative == negative_infinity;
           }) > 0;
  }
  bool HasNan() const {
    return Count([](const Decoded& x) { return x.is_nan; }) > 0;
  }
  bool HasInfinity() const { return Has(false) || Has(true); }

  // As an integer times 2^unit.
  static mpz_class InUnits(const Decoded& x, long unit) {
    mpz_class units = static_cast<unsigned long>(x.magnitude);
    units <<= static_cast<mp_bitcnt_t>(x.exponent - unit);
    return x.is_negative ? mpz_class(-units) : units;
  }

  void Sum() {
    if (HasNan() || HasInfinity()) return;
    for (const Decoded& x : taking_part_) {
      if (&x == taking_part_.data() || x.exponent < unit_) unit_ = x.exponent;
    }
    for (const Decoded& x : taking_part_) {
      const mpz_class units = InUnits(x, unit_);
      sum_ += units;
      absolute_sum_ += abs(units);
      squares_ += units * units;
    }
  }

  // numerator / denominator * 2^unit, or its root, rounded once. A zero is positive.
  static std::uint64_t Rounded(const mpz_class& numerator, const mpz_class& denominator, long unit,
                               const Format& format, bool root = false) {
    return NearestBits(abs(numerator), denominator, unit, format, root) |
           (numerator < 0 ? format.SignBit() : 0);
  }

  std::uint64_t SumBits(Op op) const {
    const Format& format = Result(op);
    if (IsEmpty()) return op == Op::kSum ? 0 : format.NanBits();
    if (HasNan() || (Has(false) && Has(true))) return format.NanBits();
    if (Has(false)) return format.InfinityBits();
    if (Has(true)) return format.InfinityBits() | format.SignBit();
    const auto is_negative_zero = [](const Decoded& x) { return x.IsZero() && x.is_negative; };
    if (Count(is_negative_zero) == taking_part_.size()) return format.SignBit();
    const std::size_t divisor = op == Op::kSum ? 1 : taking_part_.size();
    return Rounded(sum_, static_cast<unsigned long>(divisor), unit_, format);
  }

  std::uint64_t NormBits(Op op) const {
    const Format& format = Result(op);
    if (HasNan()) return format.NanBits();
    if (HasInfinity()) return format.InfinityBits();
    if (op == Op::kL1Norm) return Rounded(absolute_sum_, 1, unit_, format);
    return Rounded(squares_, 1, 2 * unit_, format, true);
  }

  std::uint64_t VarianceBits(Op op) const {
    const Format& format = Result(op);
    if (IsEmpty() || HasNan() || HasInfinity()) return format.NanBits();
    const mpz_class count = static_cast<unsigned long>(taking_part_.size());
    const mpq_class divisor =
        ExpectedDivisor(static_cast<long>(taking_part_.size()), spec_.correction);
    const mpz_class numerator = count * squares_ - sum_ * sum_;
    if (divisor <= 0) {
      const bool is_nan = numerator == 0 || (OmitsNan() && IsFloat(spec_.dtype));
      return is_nan ? format.NanBits() : format.InfinityBits();
    }
    return Rounded(numerator * divisor.get_den(), count * divisor.get_num(), 2 * unit_, format,
                   op == Op::kStd);
  }

  // Of floats.
  std::uint64_t ProductBits() const {
    const Format& format = Result(Op::kProd);
    const bool has_zero = Count([](const Decoded& x) { return x.IsZero(); }) > 0;
    if (HasNan() || (has_zero && HasInfinity())) return format.NanBits();
    const bool is_negative = Count([](const Decoded& x) { return x.is_negative; }) % 2 != 0;
    const std::uint64_t sign = is_negative ? format.SignBit() : 0;
    if (HasInfinity()) return format.InfinityBits() | sign;
    mpz_class magnitude = 1;
    long exponent = 0;
    for (const Decoded& x : taking_part_) {
      magnitude *= static_cast<unsigned long>(x.magnitude);
      exponent += x.exponent;
    }
    return NearestBits(magnitude, 1, exponent, format) | sign;
  }

  std::uint64_t MaxAbsBits() const {
    if (IsEmpty()) return 0;
    if (HasNan()) return Result(Op::kMaxAbs).NanBits();
    if (HasInfinity()) return Result(Op::kMaxAbs).InfinityBits();
    const Decoded largest =
        *std::max_element(taking_part_.begin(), taking_part_.end(),
                          [](const Decoded& a, const Decoded& b) { return a.Size() < b.Size(); });
    if (!IsFloat(spec_.dtype)) return largest.magnitude;
    return Rounded(static_cast<unsigned long>(largest.magnitude), 1, largest.exponent,
                   Result(Op::kMaxAbs));
  }

  std::uint64_t PtpBits() const {
    const std::int64_t min = Best(true, false), max = Best(false, false);
    if (min < 0 || HasNan()) return Result(Op::kPtp).NanBits();
    const Decoded &low = At(min), &high = At(max);
    if (!low.IsFinite() || !high.IsFinite()) {
      const bool are_one =
          !low.IsFinite() && !high.IsFinite() && low.is_negative == high.is_negative;
      return are_one ? Result(Op::kPtp).NanBits() : Result(Op::kPtp).InfinityBits();
    }
    const long unit = std::min(low.exponent, high.exponent);
    const mpz_class difference = InUnits(high, unit) - InUnits(low, unit);
    if (!IsFloat(spec_.dtype)) return difference.get_ui();
    return Rounded(difference, 1, unit, Result(Op::kPtp));
  }

  // The index of the first NaN unless they are omitted, else of the first of the best; -1 of none.
  std::int64_t Best(bool want_min, bool zeros_are_equal) const {
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(numbers_.size()); ++i) {
      if (At(i).is_nan && OmitsNan()) continue;
      if (At(i).is_nan) return i;
      const bool is_better = best < 0 || (want_min ? IsBelow(At(i), At(best), zeros_are_equal)
                                                   : IsBelow(At(best), At(i), zeros_are_equal));
      if (is_better) best = i;
    }
    return best;
  }

  const ReduceSpec& spec_;
  const std::vector<std::uint64_t>& elements_;
  std::vector<Decoded> numbers_;
  std::vector<Decoded> taking_part_;
  std::uint64_t nan_count_ = 0;
  // Of what takes part, if it is finite, in units of 2^unit and of its square.
  long unit_ = 0;
  mpz_class sum_, absolute_sum_, squares_;
};

bool Fits(const mpz_class& value, DType dtype) {
  return (dtype == DType::kU64 ? mpz_fits_ulong_p(value.get_mpz_t())
                               : mpz_fits_slong_p(value.get_mpz_t())) != 0;
}

std::vector<bool> IsReduced(std::size_t rank, const std::vector<std::int64_t>& axes) {
  std::vector<bool> is_reduced(rank, axes.empty());
  for (const std::int64_t axis : axes) {
    is_reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  return is_reduced;
}

}  // namespace

std::vector<std::size_t> OutputOfEachElement(const std::vector<std::int64_t>& shape,
                                             const std::vector<std::int64_t>& axes) {
  const std::vector<bool> is_reduced = IsReduced(shape.size(), axes);
  std::size_t elements = 1;
  for (const std::int64_t length : shape) elements *= static_cast<std::size_t>(length);
  std::vector<std::size_t> outputs(elements);
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t& output : outputs) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (is_reduced[d]) continue;
      output = output * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(index[d]);
    }
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  return outputs;
}

const Format& FormatOfFloat(DType dtype) {
  for (const Format& format : kFormats) {
    if (std::strcmp(format.name, Name(dtype)) == 0) return format;
  }
  std::abort();
}

std::vector<Answer> ReductionAnswers(const ReduceSpec& spec, const void* data) {
  const std::size_t element_bytes = ElementBytes(spec.dtype);
  const std::vector<bool> is_reduced = IsReduced(spec.shape.size(), spec.axes);
  std::size_t output_count = 1;
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    if (!is_reduced[d]) output_count *= static_cast<std::size_t>(spec.shape[d]);
  }
  std::vector<std::vector<std::uint64_t>> elements(output_count);
  const char* next = static_cast<const char*>(data);
  for (const std::size_t output : OutputOfEachElement(spec.shape, spec.axes)) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, next, element_bytes);  // little-endian
    next += element_bytes;
    elements[output].push_back(bits);
  }

  std::vector<Answer> answers(spec.ops.size());
  for (std::size_t output = 0; output < output_count; ++output) {
    const OutputJudge judge(spec, elements[output]);
    for (std::size_t i = 0; i < spec.ops.size(); ++i) {
      const Op op = spec.ops[i];
      const DType result = ExpectedResultDType(op, spec.dtype);
      Answer& answer = answers[i];
      std::uint64_t bits = 0;
      if (!IsFloat(spec.dtype) && (op == Op::kSum || op == Op::kProd)) {
        const mpz_class exact = judge.ExactInteger(op);
        if (Fits(exact, result)) {
          bits =
              result == DType::kU64 ? exact.get_ui() : static_cast<std::uint64_t>(exact.get_si());
        } else if (answer.op_overflow == Answer::kAllFit) {
          answer.op_overflow = static_cast<std::int64_t>(output);
          answer.overflow_value = exact;
        }
      } else {
        bits = judge.ResultBits(op);
      }
      answer.bytes.append(reinterpret_cast<const char*>(&bits), ElementBytes(result));
    }
  }
  return answers;
}

}  // namespace warpfold::testing
