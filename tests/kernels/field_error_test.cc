#include "kernels/field_error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"

namespace warpfold {
namespace {

constexpr char kOtherKey[] = "warpfold/other";

TEST(FieldErrorTest, EveryFieldHasANameOfItsOwnAndIsReadBack) {
  std::set<std::string> names;
  for (int number = 0; number < kFieldCount; ++number) {
    const auto field = static_cast<Field>(number);
    EXPECT_TRUE(names.insert(Name(field)).second) << Name(field);
    const std::optional<FieldError> error = FieldErrorOf(InvalidField(field, "is wrong"));
    ASSERT_TRUE(error.has_value()) << Name(field);
    EXPECT_EQ(error->field, field);
    EXPECT_EQ(error->index, std::nullopt);
    EXPECT_EQ(error->text, "is wrong");
  }
}

TEST(FieldErrorTest, TheMessageIsTheContractsSpelling) {
  const absl::Status status = InvalidField(Field::kTensorShape, "rank 33");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "tensor.shape: rank 33");
}

TEST(FieldErrorTest, AnIndexStandsBehindTheFieldsNameInBothSpellings) {
  const absl::Status status = FieldStatus(Field::kStates, 2, absl::NotFoundError("is none"));
  EXPECT_EQ(status.message(), "states[2]: is none");
  const std::optional<FieldError> error = FieldErrorOf(status);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->field, Field::kStates);
  EXPECT_EQ(error->index, 2);
  EXPECT_EQ(error->text, "is none");
  EXPECT_EQ(RenameField(status, "parts"), absl::NotFoundError("parts[2]: is none"));
}

TEST(FieldErrorTest, TheCodeAndWhatElseIsCarriedStay) {
  absl::Status full = absl::ResourceExhaustedError("too large");
  full.SetPayload(kOtherKey, absl::Cord("7"));
  const absl::Status status = FieldStatus(Field::kTensor, full);
  const absl::Status renamed = RenameField(status, "inputs");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.GetPayload(kOtherKey), absl::Cord("7"));
  EXPECT_EQ(renamed.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(renamed.GetPayload(kOtherKey), absl::Cord("7"));
}

TEST(FieldErrorTest, LayersThatPassAStatusOnKeepTheField) {
  const absl::StatusOr<int> inner = InvalidField(Field::kAxes, "1 is listed twice");
  const absl::StatusOr<std::string> outer = inner.status();
  const std::optional<FieldError> error = FieldErrorOf(outer.status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->field, Field::kAxes);
}

TEST(FieldErrorTest, AnyTextIsReadBackAsItWas) {
  for (const std::string text : {"", " ", "3 4 5", "ops: of another", "a\nb", "\xff"}) {
    const absl::Status status = FieldStatus(Field::kStates, -1, absl::AbortedError(text));
    const std::optional<FieldError> error = FieldErrorOf(status);
    ASSERT_TRUE(error.has_value()) << text;
    EXPECT_EQ(error->text, text);
    EXPECT_EQ(error->index, -1);
  }
}

TEST(FieldErrorTest, WhatIsAboutNoFieldIsLeftAlone) {
  for (const absl::Status& status :
       {absl::OkStatus(), absl::InvalidArgumentError("tensor.shape: told by its text alone")}) {
    EXPECT_FALSE(FieldErrorOf(status).has_value()) << status;
    EXPECT_EQ(RenameField(status, "inputs.shape"), status);
  }
}

TEST(FieldErrorTest, WhatIsRenamedIsAboutNoFieldAndIsNotRenamedAgain) {
  const absl::Status once = RenameField(InvalidField(Field::kData, "is short"), "contents");
  EXPECT_EQ(once, absl::InvalidArgumentError("contents: is short"));
  EXPECT_EQ(RenameField(once, "raw"), once);
}

TEST(FieldErrorTest, AnUnknownPayloadIsNoField) {
  for (const std::string& payload :
       {std::string(), std::string("1"), std::string("1 "), std::string("x  text"),
        std::string("-1  text"), std::to_string(kFieldCount) + "  text"}) {
    absl::Status status = absl::InvalidArgumentError("ops: none");
    status.SetPayload("warpfold/field", absl::Cord(payload));
    EXPECT_FALSE(FieldErrorOf(status).has_value()) << payload;
  }
}

}  // namespace
}  // namespace warpfold
