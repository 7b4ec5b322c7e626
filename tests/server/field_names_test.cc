#include "server/frontend/kserve/field_names.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/field_error.h"
#include "server/core/base/refusal.h"

namespace warpfold::kserve {
namespace {

// By Bytes.
using Names = std::array<std::string, 3>;

Names Always(const char* name) { return {name, name, name}; }
Names OfRegion(const char* parameter) {
  const std::string in = absl::StrCat("inputs.parameters.", parameter);
  return {in, in, absl::StrCat("outputs.parameters.", parameter)};
}

TEST(FieldNamesTest, EveryFieldHasTheProtocolsNameOrKeepsItsOwn) {
  const std::map<Field, Names> renamed = {
      {Field::kRequestId, Always("id")},
      {Field::kTensor, Always("inputs")},
      {Field::kTensorDType, Always("inputs.datatype")},
      {Field::kTensorShape, Always("inputs.shape")},
      {Field::kOps, Always("outputs")},
      {Field::kAxes, Always("parameters.axis")},
      {Field::kNanPolicy, Always("parameters.nan_policy")},
      {Field::kRequiredNumericsVersion, Always("parameters.required_numerics_version")},
      {Field::kData, {"raw_input_contents", "inputs.contents", "raw_input_contents"}},
      {Field::kMemoryName, OfRegion("shared_memory_region")},
      {Field::kMemoryOffsetBytes, OfRegion("shared_memory_offset")},
      {Field::kMemorySizeBytes, OfRegion("shared_memory_byte_size")},
      {Field::kHandle, Always("raw_handle")},
      {Field::kDeviceOrdinal, Always("device_id")},
      {Field::kOffsetBytes, Always("offset")},
      {Field::kSizeBytes, Always("byte_size")},
  };
  for (int number = 0; number < kFieldCount; ++number) {
    const auto field = static_cast<Field>(number);
    const auto found = renamed.find(field);
    const Names names = found == renamed.end() ? Always(Name(field)) : found->second;
    for (const Bytes bytes : {Bytes::kRawInput, Bytes::kTypedInput, Bytes::kOutput}) {
      const absl::Status told = Renamed(InvalidField(field, "is wrong"), bytes);
      EXPECT_TRUE(absl::IsInvalidArgument(told)) << told;
      EXPECT_EQ(told.message(), absl::StrCat(names[static_cast<std::size_t>(bytes)], ": is wrong"));
    }
  }
}

TEST(FieldNamesTest, WhatIsAnOutputsStaysAnOutputs) {
  const absl::Status told = Renamed(InvalidField(Field::kMemoryName, "is gone"), Bytes::kOutput);
  EXPECT_EQ(Renamed(told), told);
}

TEST(FieldNamesTest, ATextThatBeginsLikeAFieldIsLeftAlone) {
  const absl::Status status = absl::InvalidArgumentError("tensor.shape: said by its text alone");
  EXPECT_EQ(Renamed(status), status);
  EXPECT_TRUE(Renamed(absl::OkStatus()).ok());
}

TEST(FieldNamesTest, ARefusalKeepsItsKind) {
  const absl::Status full = RefusalStatus(RetryLater{std::chrono::milliseconds(7)}, "is full");
  const std::optional<Refusal> refusal = RefusalOf(Renamed(FieldStatus(Field::kTensor, full)));
  ASSERT_TRUE(refusal.has_value() && std::holds_alternative<RetryLater>(*refusal));
  EXPECT_EQ(std::get<RetryLater>(*refusal).delay, std::chrono::milliseconds(7));
}

}  // namespace
}  // namespace warpfold::kserve
