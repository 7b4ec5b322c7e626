#include "server/core/base/refusal.h"

#include <chrono>
#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "server/device/host_bytes.h"

namespace warpfold {
namespace {

TEST(RefusalTest, RetryDelaySurvivesTheStatus) {
  const absl::Status status = RefusalStatus(RetryLater{std::chrono::milliseconds(42)}, "full");
  const std::optional<Refusal> refusal = RefusalOf(status);
  ASSERT_TRUE(refusal.has_value());
  ASSERT_TRUE(std::holds_alternative<RetryLater>(*refusal));
  EXPECT_EQ(std::get<RetryLater>(*refusal).delay.count(), 42);
}

TEST(RefusalTest, AStatusWithoutAKindNeverFitsAndOtherCodesAreNoRefusal) {
  const std::optional<Refusal> refusal = RefusalOf(absl::ResourceExhaustedError("scratch"));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_TRUE(std::holds_alternative<NeverFits>(*refusal));
  EXPECT_FALSE(RefusalOf(absl::InternalError("bug")).has_value());
}

TEST(RefusalTest, MemoryThatIsMissingNowMayBeThereLater) {
  const std::optional<Refusal> refusal = RefusalOf(NoHostMemory());
  ASSERT_TRUE(refusal.has_value());
  EXPECT_TRUE(std::holds_alternative<RetryLater>(*refusal));
}

TEST(RefusalTest, MalformedIsAMarkThatChangesNothingElse) {
  const absl::Status plain = absl::InvalidArgumentError("message: truncated");
  EXPECT_FALSE(IsMalformed(plain));
  const absl::Status marked = AsMalformed(plain);
  EXPECT_TRUE(IsMalformed(marked));
  EXPECT_EQ(marked.code(), plain.code());
  EXPECT_EQ(marked.message(), plain.message());
  EXPECT_FALSE(RefusalOf(marked).has_value());
}

}  // namespace
}  // namespace warpfold
