#include "server/core/self_test/known_answer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/types/span.h"
#include "kernels/ops/catalogue.h"
#include "server/core/request/task.h"
#include "server/core/self_test/known_data.h"
#include "server/device/device_error.h"

namespace warpfold {
namespace {

using known::AnswerLine;
using known::Balance;
using known::Kind;
using known::kRows;

#include "server/core/self_test/known_answers.inc"

const Balance& FindBalance(std::int64_t columns, int row, bool has_holes) {
  return *std::find_if(std::begin(kBalances), std::end(kBalances), [=](const Balance& balance) {
    return balance.columns == columns && balance.row == row && balance.has_holes == has_holes;
  });
}

// The ops of a line of the table, in its order.
absl::Span<const Op> OpsOf(Kind kind) {
  switch (kind) {
    case Kind::kBalanced:
      return kBalancedOps;
    case Kind::kOmit:
      return kOmitOps;
    case Kind::kProduct:
      return kProductOps;
    case Kind::kExtremes:
      return kExtremesOps;
    case Kind::kSpecial:
      return kSpecialOps;
  }
  __builtin_unreachable();
}

// Ops that one fusion serves (kernels/ops/fusions.h). Those of a balanced line together take the
// one of everything.
const std::vector<std::vector<Op>>& FusedOps() {
  static const auto& fused = *new std::vector<std::vector<Op>>{
      {Op::kSum, Op::kMean},
      {Op::kMin},
      {Op::kMax},
      {Op::kCountNonzero, Op::kAny, Op::kAll},
      {Op::kSum, Op::kMin, Op::kMax},
      {Op::kVar, Op::kStd, Op::kL1Norm, Op::kL2Norm, Op::kNanCount, Op::kInfCount},
      {Op::kArgMin, Op::kArgMax}};
  return fused;
}

constexpr Op kWideOps[] = {Op::kSum, Op::kMean, Op::kMin,    Op::kMax,
                           Op::kVar, Op::kStd,  Op::kL1Norm, Op::kL2Norm};

// Of rows of so many elements the results, row by row, of each op. A test computes them anew.
struct KnownWide {
  std::int64_t columns;
  std::uint64_t answer_bits[std::size(kWideOps)][kRows];
};
constexpr KnownWide kKnownWide[] = {
    // Whole tiles, a ragged one and a second pass.
    {20011,
     {{0x413e4ca804b6b834, 0xc1059aa0b95b0375},
      {0x4058cec28b7d89bb, 0xc021b033268e09de},
      {0xc0eff93e09dce3d8, 0xc0eff0851b4d47d9},
      {0x40eff3f2921f774e, 0x40efcc6cc2841ed1},
      {0x4198baa20ecf15fe, 0x4197c8fc13ba8e0b},
      {0x40c3e42d7894c1ee, 0x40c3820b695f3599},
      {0x418ced9d146204dc, 0x418ca68d6c10f054},
      {0x4135fbedbd07d7ea, 0x41358f360f6e42be}}},
    // 32 KB: small. From an address that no vector is aligned to.
    {2003,
     {{0xc118e27679ced758, 0x4121d50783f1cdf8},
      {0xc069719562169666, 0x40723b96b3a44a19},
      {0xc0ef381909efb49f, 0xc0eff93e09dce3d8},
      {0x40efaeb50fd8c48c, 0x40efe1d7df70e344},
      {0x419a0e453e6f3675, 0x41975a3b08ac1f4c},
      {0x40c46afd8637dd48, 0x40c3546acc022ec8},
      {0x4157ef2b92785441, 0x4156917850fe28ce},
      {0x411c8fcda7dfb493, 0x411b0bd061806ece}}},
};

class KnownTask final : private TaskOwner, private PayloadSource {
 public:
  KnownTask(Plan plan, std::shared_ptr<const std::string> elements)
      : plan_(std::move(plan)), elements_(std::move(elements)) {
    task_.plan = &plan_;
    task_.payload = this;
  }

  Task& task() { return task_; }
  const TaskReport& Await() {
    done_.WaitForNotification();
    return report_;
  }

 private:
  absl::Status ReadInto(absl::Span<std::byte> out) override {
    std::memcpy(out.data(), elements_->data() + at_bytes_, out.size());
    at_bytes_ += out.size();
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }
  void OnDone(TaskReport report) override {
    report_ = std::move(report);
    done_.Notify();
  }

  Task task_{*this};
  const Plan plan_;
  const std::shared_ptr<const std::string> elements_;
  std::size_t at_bytes_ = 0;
  TaskReport report_;
  absl::Notification done_;
};

absl::Status Named(DType dtype, const absl::Status& status) {
  const std::string message = absl::StrCat("self-test ", Name(dtype), ": ", status.message());
  return IsDeviceLost(status) ? DeviceLostError(message) : absl::Status(status.code(), message);
}

absl::Status Check(Submitter& device, const KnownReduction& known) {
  absl::StatusOr<Plan> plan = MakePlan(known.question);
  if (!plan.ok()) return plan.status();
  KnownTask known_task(*std::move(plan), known.elements);
  if (absl::Status status = device.Submit(&known_task.task()); !status.ok()) return status;
  const TaskReport& report = known_task.Await();
  if (!report.outcome.ok()) return report.outcome.status();
  const std::vector<std::string>& results = report.outcome->results;
  if (results.size() != known.answer.size()) return absl::InternalError("not one result an op");
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] != known.answer[i]) {
      return absl::InternalError(absl::StrCat(Name(known.question.ops[i]), " of ",
                                              known.question.shape[1],
                                              " elements has other bits than the known"));
    }
  }
  return absl::OkStatus();
}

// Magnitudes over 32 binary orders and mixed signs, by Knuth's linear congruential generator.
std::string WideElements(std::int64_t count) {
  std::string elements;
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t sign = state & (std::uint64_t{1} << 63);
    const std::uint64_t exponent = 1023 - 16 + ((state >> 58) & 31);
    const std::uint64_t mantissa = (state >> 6) & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t bits = sign | exponent << 52 | mantissa;
    elements.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  return elements;
}

// Of pairs of hexadecimal digits, in lower case.
std::string Bytes(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
  }
  return bytes;
}

// A line of the table as one question with all of its ops.
KnownReduction Whole(const AnswerLine& line) {
  const absl::Span<const Op> ops = OpsOf(line.kind);
  KnownReduction known{.question = {.dtype = line.dtype,
                                    .shape = {kRows, line.columns},
                                    .ops = {ops.begin(), ops.end()},
                                    .axes = {1},
                                    .nan_policy = line.kind == Kind::kOmit ? NanPolicy::kOmit
                                                                           : NanPolicy::kPropagate},
                       .elements = std::make_shared<const std::string>(
                           known::Elements(line.dtype, line.kind, line.columns, FindBalance))};
  const std::string bytes = Bytes(line.answers);
  std::size_t at = 0;
  for (const Op op : ops) {
    const std::size_t size = kRows * ElementBytes(ResultDType(op, line.dtype));
    known.answer.push_back(bytes.substr(at, size));
    at += size;
  }
  return known;
}

// The same tensor with some of the ops.
KnownReduction Some(const KnownReduction& whole, const std::vector<Op>& ops) {
  KnownReduction some = whole;
  some.question.ops = ops;
  some.answer.clear();
  for (const Op op : ops) {
    const auto found = std::find(whole.question.ops.begin(), whole.question.ops.end(), op);
    some.answer.push_back(
        whole.answer[static_cast<std::size_t>(found - whole.question.ops.begin())]);
  }
  return some;
}

}  // namespace

std::vector<KnownReduction> KnownReductions(DType dtype) {
  std::vector<KnownReduction> reductions;
  for (const AnswerLine& line : kAnswers) {
    if (line.dtype != dtype) continue;
    KnownReduction whole = Whole(line);
    if (line.kind == Kind::kBalanced) {
      for (const std::vector<Op>& ops : FusedOps()) reductions.push_back(Some(whole, ops));
    }
    reductions.push_back(std::move(whole));
  }
  return reductions;
}

std::vector<KnownReduction> KnownWideReductions() {
  std::vector<KnownReduction> reductions;
  for (const KnownWide& known : kKnownWide) {
    KnownReduction& reduction = reductions.emplace_back();
    reduction.question = {.dtype = DType::kF64,
                          .shape = {kRows, known.columns},
                          .ops = {std::begin(kWideOps), std::end(kWideOps)},
                          .axes = {1}};
    reduction.elements = std::make_shared<const std::string>(WideElements(kRows * known.columns));
    for (const auto& bits : known.answer_bits) {
      reduction.answer.emplace_back(reinterpret_cast<const char*>(bits), sizeof(bits));
    }
  }
  return reductions;
}

absl::Status CheckKnownAnswers(Submitter& device, DType dtype) {
  std::vector<KnownReduction> reductions = KnownReductions(dtype);
  if (dtype == DType::kF64) {
    for (KnownReduction& wide : KnownWideReductions()) reductions.push_back(std::move(wide));
  }
  for (const KnownReduction& known : reductions) {
    if (absl::Status status = Check(device, known); !status.ok()) return Named(dtype, status);
  }
  return absl::OkStatus();
}

}  // namespace warpfold
