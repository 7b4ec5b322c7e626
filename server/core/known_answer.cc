#include "server/core/known_answer.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "server/core/work.h"

namespace warpfold {
namespace {

// Two rows of some 2.4 groups of the canonical order: whole tiles, a ragged one, a second pass.
constexpr std::int64_t kRows = 2;
constexpr std::int64_t kColumns = 20011;
constexpr Op kOps[] = {Op::kSum, Op::kMean, Op::kMin, Op::kMax};

// The results, row by row, of each op. A test computes them anew from docs/order.md.
constexpr std::uint64_t kAnswerBits[std::size(kOps)][kRows] = {
    {0x413e4ca804b6b836, 0xc1059aa0b95b0378},
    {0x4058cec28b7d89bc, 0xc021b033268e09e0},
    {0xc0eff93e09dce3d8, 0xc0eff0851b4d47d9},
    {0x40eff3f2921f774e, 0x40efcc6cc2841ed1},
};

class KnownWork final : public Work, private PayloadSource {
 public:
  explicit KnownWork(Plan plan) : plan_(std::move(plan)), elements_(KnownElements()) {}

  const WorkReport& Await() {
    done_.WaitForNotification();
    return report_;
  }

  const Plan& plan() const override { return plan_; }
  PayloadSource& payload() override { return *this; }
  bool waits_for_client() const override { return false; }
  absl::Status Wanted() const override { return absl::OkStatus(); }
  void Done(WorkReport report) override {
    report_ = std::move(report);
    done_.Notify();
  }

 private:
  void Open() override {}
  absl::Status ReadInto(absl::Span<std::byte> out) override {
    std::memcpy(out.data(), reinterpret_cast<const char*>(elements_.data()) + at_bytes_,
                out.size());
    at_bytes_ += out.size();
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() override { return absl::OkStatus(); }

  const Plan plan_;
  const std::vector<double> elements_;
  std::size_t at_bytes_ = 0;
  WorkReport report_;
  absl::Notification done_;
};

absl::Status Named(const DeviceScheduler& device, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(device.device().name, ": ", status.message()));
}

}  // namespace

ReduceSpec KnownQuestion() {
  return {.dtype = DType::kF64,
          .shape = {kRows, kColumns},
          .ops = {std::begin(kOps), std::end(kOps)},
          .axes = {1}};
}

// Magnitudes over 32 binary orders and mixed signs, by Knuth's linear congruential generator.
std::vector<double> KnownElements() {
  std::vector<double> elements;
  elements.reserve(kRows * kColumns);
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t sign = state & (std::uint64_t{1} << 63);
    const std::uint64_t exponent = 1023 - 16 + ((state >> 58) & 31);
    const std::uint64_t mantissa = (state >> 6) & ((std::uint64_t{1} << 52) - 1);
    elements.push_back(std::bit_cast<double>(sign | exponent << 52 | mantissa));
  }
  return elements;
}

std::vector<std::string> KnownAnswer() {
  std::vector<std::string> answer;
  for (const auto& bits : kAnswerBits) {
    answer.emplace_back(reinterpret_cast<const char*>(bits), sizeof(bits));
  }
  return answer;
}

absl::Status CheckKnownAnswer(DeviceScheduler& device) {
  absl::StatusOr<Plan> plan = MakePlan(KnownQuestion());
  if (!plan.ok()) return plan.status();
  KnownWork work(*std::move(plan));
  if (absl::Status status = device.Submit(&work); !status.ok()) return Named(device, status);
  const WorkReport& report = work.Await();
  if (!report.outcome.ok()) return Named(device, report.outcome.status());
  if (report.outcome->results != KnownAnswer()) {
    return Named(device, absl::InternalError("a known reduction gave other bits than the known"));
  }
  return absl::OkStatus();
}

}  // namespace warpfold
