#include "tests/golden/goldens.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

#include "absl/numeric/int128.h"

namespace warpfold::testing {
namespace {

constexpr const char* kLines[] = {
#include "reductions.inc"
};

constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;

// splitmix64's.
std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t BoolBits(int function, std::uint64_t w) {
  const std::uint64_t bits[] = {w & 1, w % 64 == 0 ? 1u : 0u, 1, 0, w % 64 != 0 ? 1u : 0u};
  return bits[function];
}

// More than the element's bits, the lowest of which are its.
std::uint64_t IntegerBits(int function, std::uint64_t w, int bits, bool is_signed) {
  const std::uint64_t all_ones = ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t largest = is_signed ? all_ones >> 1 : all_ones;
  const std::uint64_t extremes[] = {largest, largest + 1, 0, 1, all_ones};
  const std::uint64_t factor = w % 64 == 0 ? 2 + (w >> 8) % 3 : 1;
  switch (function) {
    case 1:
      return w % 5 - (is_signed ? 2 : 0);
    case 2:
      return is_signed && (w >> 7 & 1) != 0 ? 0 - factor : factor;
    case 3:
      return extremes[w % 5];
    case 4:
      if (bits < 64) return w;
      return (w >> 24) - (is_signed ? std::uint64_t{1} << 39 : 0);
    default:
      return w;
  }
}

std::uint64_t FloatBits(int function, std::uint64_t w, int exponent_bits, int stored,
                        bool has_infinities = true) {
  const std::uint64_t sign = std::uint64_t{1} << (exponent_bits + stored);
  // Where there are no infinities, NaN.
  const std::uint64_t infinity =
      has_infinities ? ((std::uint64_t{1} << exponent_bits) - 1) << stored : sign - 1;
  const std::uint64_t one = ((std::uint64_t{1} << (exponent_bits - 1)) - 1) << stored;
  const std::uint64_t two = one + (std::uint64_t{1} << stored);
  const std::uint64_t nan = infinity | std::uint64_t{1} << (stored - 1);
  const std::uint64_t x = w & (2 * sign - 1);
  const std::uint64_t finite = (x & infinity) == infinity ? x & ~(sign >> 1) : x;
  const std::uint64_t small[] = {0, sign, one, sign | one, two, sign | two, 1, sign | 1};
  const std::uint64_t special[] = {nan, infinity | 1, sign | nan,   infinity, sign | infinity,
                                   0,   sign,         infinity - 1, sign | 1};
  const std::uint64_t not_negative[] = {0, sign, one, two};
  const std::uint64_t not_positive[] = {0, sign, sign | one, sign | two};
  const std::uint64_t payload = (w >> 8 & ((std::uint64_t{1} << stored) - 1)) | 1;
  switch (function) {
    case 1:
      return small[w % std::size(small)];
    case 2:
      return finite;
    case 3:
      return special[w % std::size(special)];
    case 4:
      return w % 16 == 0 ? finite : ((w >> 5 & 1) != 0 ? sign : 0) | infinity | payload;
    case 5:
      return not_negative[w % std::size(not_negative)];
    case 6:
      return not_positive[w % std::size(not_positive)];
    default:
      return x;
  }
}

std::uint64_t ElementBits(DType dtype, int function, std::uint64_t w) {
  switch (dtype) {
    case DType::kBool:
      return BoolBits(function, w);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return IntegerBits(function, w, static_cast<int>(8 * ElementBytes(dtype)), true);
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return IntegerBits(function, w, static_cast<int>(8 * ElementBytes(dtype)), false);
    case DType::kF16:
      return FloatBits(function, w, 5, 10);
    case DType::kBF16:
      return FloatBits(function, w, 8, 7);
    case DType::kF32:
      return FloatBits(function, w, 8, 23);
    case DType::kF64:
      return FloatBits(function, w, 11, 52);
    case DType::kF8E4M3:
      return FloatBits(function, w, 4, 3, false);
    case DType::kF8E5M2:
      return FloatBits(function, w, 5, 2);
  }
  std::abort();
}

std::vector<std::int64_t> ParseNumbers(const std::string& text, char separator) {
  std::vector<std::int64_t> numbers;
  std::istringstream stream(text);
  for (std::string number; text != "-" && std::getline(stream, number, separator);) {
    numbers.push_back(std::stoll(number));
  }
  return numbers;
}

std::string HashOf(const std::string& results, std::size_t result_bytes) {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < results.size(); i += result_bytes) {
    std::uint64_t result = 0;
    std::memcpy(&result, &results[i], result_bytes);  // little-endian
    h = Mix((h ^ result) + kGamma);
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(h));
  return text;
}

}  // namespace

std::string Golden::ToString() const {
  std::ostringstream text;
  text << Name(spec.dtype) << (spec.nan_policy == NanPolicy::kOmit ? " omit" : " propagate")
       << ", shape number " << shape_number;
  return text.str();
}

std::vector<Golden> GoldensOf(DType dtype) {
  std::vector<ReduceSpec> shapes;
  std::vector<Golden> goldens;
  for (const char* line : kLines) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "shape") {
      std::string number, dimensions, axes;
      words >> number >> dimensions >> axes;
      shapes.push_back({.shape = ParseNumbers(dimensions, 'x'), .axes = ParseNumbers(axes, ',')});
    } else if (kind == Name(dtype)) {
      Golden golden;
      std::string policy;
      words >> policy >> golden.shape_number;
      golden.spec = shapes.at(static_cast<std::size_t>(golden.shape_number));
      golden.spec.dtype = dtype;
      if (!IsFloat(dtype)) golden.spec.ops = {Op::kSum, Op::kProd};
      golden.spec.ops.insert(golden.spec.ops.end(),
                             {Op::kMin, Op::kMax, Op::kArgMin, Op::kArgMax, Op::kCountNonzero,
                              Op::kAny, Op::kAll, Op::kNanCount, Op::kInfCount, Op::kMaxAbs});
      if (!IsFloat(dtype)) golden.spec.ops.push_back(Op::kPtp);
      golden.answers.resize(golden.spec.ops.size());
      for (std::string& answer : golden.answers) words >> answer;
      if (policy != "omit") goldens.push_back(golden);
      golden.spec.nan_policy = NanPolicy::kOmit;
      if (policy != "propagate") goldens.push_back(golden);
    }
  }
  return goldens;
}

std::vector<char> ElementsOf(const Golden& golden) {
  const DType dtype = golden.spec.dtype;
  const std::size_t element_bytes = ElementBytes(dtype);
  std::size_t count = 1;
  for (const std::int64_t length : golden.spec.shape) count *= static_cast<std::size_t>(length);
  std::vector<char> elements(count * element_bytes);
  const int function = (golden.shape_number + static_cast<int>(dtype)) % (IsFloat(dtype) ? 7 : 5);
  auto state = static_cast<std::uint64_t>(golden.shape_number);
  for (std::size_t i = 0; i < count; ++i) {
    state += kGamma;
    const std::uint64_t bits = ElementBits(dtype, function, Mix(state));
    std::memcpy(&elements[i * element_bytes], &bits, element_bytes);
  }
  return elements;
}

GoldenAnswers AnswersOf(const Plan& plan, const std::vector<std::string>& results) {
  GoldenAnswers answers;
  for (std::size_t i = 0; i < results.size(); ++i) {
    answers.push_back(HashOf(results[i], ElementBytes(ResultDType(plan.ops[i], plan.dtype))));
  }
  return answers;
}

std::string OverflowAnswer(const Overflow& overflow) {
  std::ostringstream text;
  text << '!' << overflow.output_index;
  if (overflow.op == Op::kSum) text << ':' << absl::MakeInt128(overflow.high, overflow.low);
  return text.str();
}

}  // namespace warpfold::testing
