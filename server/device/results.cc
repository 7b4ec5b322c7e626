#include "server/device/results.h"

#include <limits>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"

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

}  // namespace

ResultLayout::ResultLayout(const Plan& plan) {
  constexpr std::size_t kAlignment = 16;
  for (const Op op : plan.ops) {
    const std::size_t bytes =
        static_cast<std::size_t>(plan.output_count) * ElementBytes(ResultDType(op, plan.dtype));
    offsets_.push_back(total_bytes_);
    bytes_.push_back(bytes);
    total_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
}

ResultTargets ResultLayout::Targets(const Plan& plan, void* base) const {
  ResultTargets targets;
  targets.count = static_cast<int>(plan.ops.size());
  targets.reduced_count = plan.reduced_count;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    targets.ops[i] = plan.ops[i];
    targets.arrays[i] = static_cast<char*>(base) + offsets_[i];
  }
  return targets;
}

std::vector<std::string> ResultLayout::Extract(const char* base) const {
  std::vector<std::string> results;
  results.reserve(offsets_.size());
  for (std::size_t i = 0; i < offsets_.size(); ++i)
    results.emplace_back(base + offsets_[i], bytes_[i]);
  return results;
}

std::vector<std::string> EmptyResults(const Plan& plan) {
  std::vector<std::string> results;
  for (const Op op : plan.ops) {
    results.push_back(VisitDType(ResultDType(op, plan.dtype), [&](auto tag) {
      using R = typename decltype(tag)::type;
      // MIN and MAX of nothing were refused by the plan unless there is no output either.
      return Repeat(op == Op::kMean ? std::numeric_limits<R>::quiet_NaN() : R{0},
                    plan.output_count);
    }));
  }
  return results;
}

absl::Status OverflowStatus(const Overflow& overflow) {
  if (overflow.output_index == Overflow::kNone) return absl::OkStatus();
  const std::string sum = Decimal(absl::MakeInt128(overflow.high, overflow.low));
  return absl::OutOfRangeError(absl::StrCat("ops: the sum of output element ",
                                            overflow.output_index, " is ", sum,
                                            ", which does not fit in int64"));
}

}  // namespace warpfold
