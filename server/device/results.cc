#include "server/device/results.h"

#include <algorithm>
#include <limits>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "kernels/field_error.h"
#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

template <typename T>
std::string Repeat(T value, std::int64_t count) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(count) * sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  return bytes;
}

std::string Decimal(absl::int128 value) {
  // absl 20220623 prints int128 through streams only; digits from the low end.
  if (value == 0) return "0";
  const bool negative = value < 0;
  absl::uint128 left =
      negative ? -static_cast<absl::uint128>(value) : static_cast<absl::uint128>(value);
  std::string digits;
  for (; left != 0; left /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
  }
  return negative ? absl::StrCat("-", digits) : digits;
}

// The result of `op`, in its dtype, over no elements. MIN and MAX of nothing were refused by the
// plan unless there is no output either.
template <typename R>
R OfNothing(Op op) {
  const bool is_one = op == Op::kProd || op == Op::kAll;
  const bool is_nan = op == Op::kMean || op == Op::kVar || op == Op::kStd;
  if constexpr (kIsFloat<R>) {
    return RoundFromDouble<R>(is_nan ? std::numeric_limits<double>::quiet_NaN()
                                     : static_cast<double>(is_one));
  } else if constexpr (std::is_same_v<R, Bool>) {
    return Bool{static_cast<std::uint8_t>(is_one)};
  } else {
    return static_cast<R>(is_one);
  }
}

}  // namespace

ResultLayout::ResultLayout(const Plan& plan) : ResultLayout(plan, {}) {}

ResultLayout::ResultLayout(const Plan& plan, const std::vector<std::size_t>& state_bytes) {
  const std::size_t outputs = static_cast<std::size_t>(plan.output_count);
  if (plan.leaves_states) {
    for (const std::size_t bytes : state_bytes) Add(outputs * bytes);
    return;
  }
  for (const Op op : plan.ops) Add(outputs * ElementBytes(ResultDType(op, plan.dtype)));
}

void ResultLayout::Add(std::size_t bytes) {
  constexpr std::size_t kAlignment = 16;
  offsets_.push_back(total_bytes_);
  bytes_.push_back(bytes);
  total_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Output ResultLayout::OutputAt(const Plan& plan, void* base, Overflow* overflow) const {
  Output output;
  output.overflow = overflow;
  if (plan.leaves_states) {
    output.states = base;
  } else {
    output.targets = Targets(plan, base);
  }
  return output;
}

std::vector<void*> ResultLayout::ArraysAt(void* base) const {
  std::vector<void*> arrays;
  for (const std::size_t offset : offsets_) arrays.push_back(static_cast<char*>(base) + offset);
  return arrays;
}

ResultTargets ResultLayout::Targets(const Plan& plan, void* base) const {
  ResultTargets targets;
  targets.count = static_cast<int>(plan.ops.size());
  targets.reduced_count = plan.reduced_count;
  targets.correction = plan.correction;
  targets.reduced_run_count = static_cast<int>(plan.geometry.reduced_runs.size());
  std::copy(plan.geometry.reduced_runs.begin(), plan.geometry.reduced_runs.end(),
            targets.reduced_runs);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    targets.ops[i] = plan.ops[i];
    targets.arrays[i] = static_cast<char*>(base) + offsets_[i];
  }
  return targets;
}

absl::StatusOr<std::vector<std::string>> ResultLayout::Extract(const char* base) const {
  return OrNoHostMemory([&]() -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> results;
    results.reserve(offsets_.size());
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      results.emplace_back(base + offsets_[i], bytes_[i]);
    return results;
  });
}

absl::StatusOr<std::vector<std::string>> EmptyResults(const Plan& plan) {
  return OrNoHostMemory([&]() -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> results;
    for (const Op op : plan.ops) {
      results.push_back(VisitDType(ResultDType(op, plan.dtype), [&](auto tag) {
        return Repeat(OfNothing<typename decltype(tag)::type>(op), plan.output_count);
      }));
    }
    return results;
  });
}

bool MayOverflow(const Plan& plan) {
  if (plan.leaves_states) return false;
  const bool is_float = IsFloat(plan.dtype);
  return std::any_of(plan.ops.begin(), plan.ops.end(),
                     [&](Op op) { return op == Op::kProd || (op == Op::kSum && !is_float); });
}

absl::Status OverflowStatus(const Overflow& overflow, const Plan& plan) {
  if (overflow.output_index == Overflow::kNone) return absl::OkStatus();
  const char* result = Name(ResultDType(overflow.op, plan.dtype));
  const std::int64_t output = plan.first_output + overflow.output_index;
  if (overflow.op == Op::kProd && IsFloat(plan.dtype)) {
    return FieldStatus(Field::kOps, absl::DataLossError(absl::StrCat(
                                        "the product of output element ", output,
                                        " lies too close to the middle of two numbers of ", result,
                                        " to tell which is nearer")));
  }
  if (overflow.op == Op::kProd) {
    return FieldStatus(Field::kOps,
                       absl::OutOfRangeError(absl::StrCat("the product of output element ", output,
                                                          " does not fit in ", result)));
  }
  const std::string sum = Decimal(absl::MakeInt128(overflow.high, overflow.low));
  return FieldStatus(
      Field::kOps, absl::OutOfRangeError(absl::StrCat("the sum of output element ", output, " is ",
                                                      sum, ", which does not fit in ", result)));
}

}  // namespace warpfold
