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

constexpr std::int64_t kRows = 2;
constexpr Op kOps[] = {Op::kSum, Op::kMean, Op::kMin, Op::kMax};

// Of rows of so many elements the results, row by row, of each op. A test computes them anew from
// docs/order.md.
struct Known {
  std::int64_t columns;
  std::uint64_t answer_bits[std::size(kOps)][kRows];
};
constexpr Known kKnown[] = {
    // 39 tiles of the canonical order and a ragged one: whole tiles, a second pass.
    {20011,
     {{0x413e4ca804b6b836, 0xc1059aa0b95b0378},
      {0x4058cec28b7d89bc, 0xc021b033268e09e0},
      {0xc0eff93e09dce3d8, 0xc0eff0851b4d47d9},
      {0x40eff3f2921f774e, 0x40efcc6cc2841ed1}}},
    // 32 KB: small. Three tiles and a ragged one, from an address that no vector is aligned to.
    {2003,
     {{0xc118e27679ced758, 0x4121d50783f1cdfa},
      {0xc069719562169666, 0x40723b96b3a44a1b},
      {0xc0ef381909efb49f, 0xc0eff93e09dce3d8},
      {0x40efaeb50fd8c48c, 0x40efe1d7df70e344}}},
};

class KnownWork final : public Work, private PayloadSource {
 public:
  explicit KnownWork(Plan plan)
      : plan_(std::move(plan)), elements_(KnownElements(plan_.element_count)) {}

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

absl::Status Check(DeviceScheduler& device, const KnownReduction& known) {
  absl::StatusOr<Plan> plan = MakePlan(known.question);
  if (!plan.ok()) return plan.status();
  KnownWork work(*std::move(plan));
  if (absl::Status status = device.Submit(&work); !status.ok()) return Named(device, status);
  const WorkReport& report = work.Await();
  if (!report.outcome.ok()) return Named(device, report.outcome.status());
  if (report.outcome->results != known.answer) {
    return Named(device, absl::InternalError("a known reduction gave other bits than the known"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<KnownReduction> KnownReductions() {
  std::vector<KnownReduction> reductions;
  for (const Known& known : kKnown) {
    KnownReduction& reduction = reductions.emplace_back();
    reduction.question = {.dtype = DType::kF64,
                          .shape = {kRows, known.columns},
                          .ops = {std::begin(kOps), std::end(kOps)},
                          .axes = {1}};
    for (const auto& bits : known.answer_bits) {
      reduction.answer.emplace_back(reinterpret_cast<const char*>(bits), sizeof(bits));
    }
  }
  return reductions;
}

// Magnitudes over 32 binary orders and mixed signs, by Knuth's linear congruential generator.
std::vector<double> KnownElements(std::int64_t count) {
  std::vector<double> elements;
  elements.reserve(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t sign = state & (std::uint64_t{1} << 63);
    const std::uint64_t exponent = 1023 - 16 + ((state >> 58) & 31);
    const std::uint64_t mantissa = (state >> 6) & ((std::uint64_t{1} << 52) - 1);
    elements.push_back(std::bit_cast<double>(sign | exponent << 52 | mantissa));
  }
  return elements;
}

absl::Status CheckKnownAnswer(DeviceScheduler& device) {
  for (const KnownReduction& known : KnownReductions()) {
    if (absl::Status status = Check(device, known); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace warpfold
