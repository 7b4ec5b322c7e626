// The parameters of an op that nobody has: two of them, in a contract made here.
#include "server/frontend/native/op_params.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "kernels/ops/catalogue.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {
namespace {

using ::testing::ElementsAre;

constexpr char kContract[] = R"(
  name: "fake.proto" syntax: "proto3"
  message_type {
    name: "TrimParams"
    field { name: "low" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
    field { name: "high" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  }
  message_type {
    name: "OtherParams"
    field { name: "low" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  }
  message_type {
    name: "OpSpec"
    field { name: "op" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
    field { name: "trim" number: 2 type: TYPE_MESSAGE type_name: "TrimParams" label: LABEL_OPTIONAL
            oneof_index: 0 }
    field { name: "other" number: 3 type: TYPE_MESSAGE type_name: "OtherParams"
            label: LABEL_OPTIONAL oneof_index: 0 }
    oneof_decl { name: "params" }
  })";

constexpr ParamInfo kTrim[] = {{.name = "low", .summary = "a share", .preset = 0.25},
                               {.name = "high", .summary = "another", .preset = 0.75}};
constexpr ParamSet kTrimParams{"trim", kTrim};

class OpParamsTest : public ::testing::Test {
 protected:
  OpParamsTest() {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kContract, &file));
    spec_.reset(
        messages_.GetPrototype(pool_.BuildFile(file)->FindMessageTypeByName("OpSpec"))->New());
  }

  // Of the spec that `text` is.
  absl::StatusOr<std::vector<double>> Decoded(const std::string& text,
                                              const ParamSet* known = &kTrimParams) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, spec_.get())) << text;
    return DecodeParams(7, *spec_, known);
  }
  // Of bytes, as a newer client's.
  std::string RefusalOf(const std::string& bytes, const ParamSet* known = &kTrimParams) {
    EXPECT_TRUE(spec_->ParseFromString(bytes));
    return std::string(DecodeParams(7, *spec_, known).status().message());
  }

  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory messages_;
  std::unique_ptr<google::protobuf::Message> spec_;
};

TEST_F(OpParamsTest, AreInTheCataloguesOrder) {
  EXPECT_THAT(*Decoded("trim { high: 3 low: 2 }"), ElementsAre(2, 3));
  EXPECT_THAT(*Decoded("op: 1"), ElementsAre(0.25, 0.75));
  EXPECT_THAT(*Decoded("op: 1", nullptr), ElementsAre());
}

TEST_F(OpParamsTest, OfAnotherOpAreRefusedByName) {
  EXPECT_EQ(Decoded("other { low: 1 }").status().message(), "ops[7].other: the op's are trim");
  EXPECT_EQ(Decoded("trim {}", nullptr).status().message(),
            "ops[7].trim: the op has no parameters");
}

TEST_F(OpParamsTest, ThatAreNoNumberAreRefusedByName) {
  EXPECT_EQ(Decoded("trim { low: 1 high: nan }").status().message(),
            "ops[7].trim.high: nan is not a finite number");
  EXPECT_TRUE(absl::IsInvalidArgument(Decoded("trim { low: -inf }").status()));
}

TEST_F(OpParamsTest, OfANewerClientAreRefused) {
  EXPECT_EQ(RefusalOf("\x4a\x01x"), "ops[7]: field 9 is unknown; there is op, trim");
  EXPECT_EQ(RefusalOf("\x4a\x01x", nullptr), "ops[7]: field 9 is unknown; there is op");
  EXPECT_EQ(RefusalOf("\x12\x02\x18\x01"), "ops[7].trim: field 3 is unknown; there is low, high");
}

// The catalogue's parameters and the contract's are the same.
TEST(ContractParamsTest, AreThoseOfTheCatalogue) {
  const google::protobuf::OneofDescriptor* oneof =
      v1::OpSpec::descriptor()->FindOneofByName("params");
  std::vector<std::string> in_contract, in_catalogue;
  for (int i = 0; i < oneof->field_count(); ++i) {
    const google::protobuf::Descriptor* params = oneof->field(i)->message_type();
    for (int k = 0; k < params->field_count(); ++k) {
      EXPECT_EQ(params->field(k)->type(), google::protobuf::FieldDescriptor::TYPE_DOUBLE);
      in_contract.push_back(absl::StrCat(oneof->field(i)->name(), ".", params->field(k)->name()));
    }
  }
  for (const Op op : kAllOps) {
    const ParamSet* set = InfoOf(op).params;
    if (set == nullptr) continue;
    for (const ParamInfo& param : set->params) {
      const std::string name = std::string(set->name) + "." + param.name;
      if (!std::ranges::count(in_catalogue, name)) in_catalogue.push_back(name);
    }
  }
  EXPECT_THAT(in_catalogue, ::testing::UnorderedElementsAreArray(in_contract));
}

}  // namespace
}  // namespace warpfold
