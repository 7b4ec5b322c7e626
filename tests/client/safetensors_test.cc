// The .safetensors reader, on files made here byte by byte.
#include "client/cpp/cli/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace warpfold::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string FileWithLength(std::uint64_t header_bytes, const std::string& rest) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(header_bytes >> (8 * i) & 0xff));
  return file + rest;
}

std::string SafetensorsFile(const std::string& header, const std::string& data) {
  return FileWithLength(header.size(), header + data);
}

absl::StatusOr<std::vector<NamedTensor>> ParseTensors(const std::string& file) {
  return ParseSafetensors(std::as_bytes(std::span(file)));
}

std::string TensorsProblem(const std::string& file) {
  const auto tensors = ParseTensors(file);
  EXPECT_TRUE(tensors.ok() || tensors.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(tensors.status().message());
}

std::string Entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

TEST(SafetensorsTest, TensorsComeInTheOrderOfTheirData) {
  const std::string file = SafetensorsFile(
      R"({"__metadata__":{"format":"pt"},"a":)" + Entry("F32", "[2,1]", "[8,16]") + R"(,"b":)" +
          Entry("I64", "[]", "[0,8]") + R"(,"none":)" + Entry("F64", "[0,3]", "[16,16]") + "}   ",
      std::string(16, 'x'));
  const auto tensors = ParseTensors(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ((*tensors)[0].name, "b");
  EXPECT_EQ((*tensors)[0].view.dtype, v1::DTYPE_I64);
  EXPECT_THAT((*tensors)[0].view.shape, ElementsAre());
  EXPECT_EQ((*tensors)[1].name, "a");
  EXPECT_EQ((*tensors)[1].dtype_name, "f32");
  EXPECT_THAT((*tensors)[1].view.shape, ElementsAre(2, 1));
  EXPECT_EQ(static_cast<const void*>((*tensors)[1].view.data.data()),
            file.data() + file.size() - 8);
  EXPECT_EQ((*tensors)[2].name, "none");
  EXPECT_TRUE((*tensors)[2].view.data.empty());
}

TEST(SafetensorsTest, ADTypeThatTheContractDoesNotHaveKeepsItsName) {
  const auto tensors =
      ParseTensors(SafetensorsFile(R"({"w":)" + Entry("F8_E8M0", "[3]", "[0,3]") + "}", "abc"));
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ((*tensors)[0].dtype_name, "F8_E8M0");
  EXPECT_EQ((*tensors)[0].view.dtype, v1::DTYPE_UNSPECIFIED);
}

TEST(SafetensorsTest, NoTensorsAtAllIsAFile) {
  EXPECT_TRUE(ParseTensors(SafetensorsFile("{}", "")).ok());
}

TEST(SafetensorsTest, HeaderLengthsThatLieAreRefused) {
  EXPECT_THAT(TensorsProblem(""), HasSubstr("truncated: 0 bytes"));
  EXPECT_THAT(TensorsProblem("1234567"), HasSubstr("truncated: 7 bytes"));
  EXPECT_EQ(TensorsProblem(FileWithLength(3, "{}")),
            "header: a length of 3 bytes, but only 2 follow");
  EXPECT_THAT(TensorsProblem(FileWithLength(100'000'001, "{}")),
              HasSubstr("over the format's limit"));
  EXPECT_THAT(TensorsProblem(FileWithLength(~std::uint64_t{0}, "{}")),
              HasSubstr("over the format's limit"));
  EXPECT_THAT(TensorsProblem(FileWithLength(1, "{}")),
              HasSubstr("header: "));  // cut inside the JSON
}

TEST(SafetensorsTest, HeadersThatAreNotTheFormatsJsonAreRefused) {
  EXPECT_THAT(TensorsProblem(SafetensorsFile("[]", "")), HasSubstr("does not start with '{'"));
  EXPECT_THAT(TensorsProblem(SafetensorsFile(R"({"a":)", "")), HasSubstr("parse error"));
  EXPECT_THAT(TensorsProblem(SafetensorsFile("{\"\xff\":1}", "")), HasSubstr("UTF-8"));
  EXPECT_THAT(TensorsProblem(SafetensorsFile(R"({"a":1})", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(TensorsProblem(SafetensorsFile(R"({"__metadata__":{"n":1}})", "")),
              HasSubstr("map of strings"));
  EXPECT_THAT(TensorsProblem(SafetensorsFile(R"({"a":{"shape":[],"data_offsets":[0,4]}})", "abcd")),
              HasSubstr("dtype is missing"));
  EXPECT_THAT(
      TensorsProblem(SafetensorsFile(R"({"a":)" + Entry("F32", "[1.0]", "[0,4]") + "}", "abcd")),
      HasSubstr("shape holds"));
  EXPECT_THAT(
      TensorsProblem(SafetensorsFile(R"({"a":)" + Entry("F32", "[-1]", "[0,4]") + "}", "abcd")),
      HasSubstr("shape holds"));
  EXPECT_THAT(
      TensorsProblem(SafetensorsFile(R"({"a":)" + Entry("F32", "1", "[0,4]") + "}", "abcd")),
      HasSubstr("shape is missing or not a list"));
  EXPECT_THAT(
      TensorsProblem(SafetensorsFile(R"({"a":)" + Entry("F32", "[]", "[0,4,8]") + "}", "abcd")),
      HasSubstr("[begin, end]"));
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(TensorsProblem(SafetensorsFile(R"({"a":)" + deep, "")),
              HasSubstr("nested too deeply"));
}

TEST(SafetensorsTest, NamesThatComeTwiceAreRefused) {
  const std::string a = R"("a":)" + Entry("U8", "[1]", "[0,1]");
  EXPECT_THAT(TensorsProblem(SafetensorsFile("{" + a + "," + a + "}", "x")),
              HasSubstr("'a' comes twice"));
  EXPECT_THAT(TensorsProblem(SafetensorsFile(
                  R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x")),
              HasSubstr("'dtype' comes twice"));
  // The same key in two tensors is no duplicate.
  EXPECT_EQ(TensorsProblem(
                SafetensorsFile("{" + a + R"(,"b":)" + Entry("U8", "[1]", "[1,2]") + "}", "xy")),
            "");
}

TEST(SafetensorsTest, OffsetsThatLieAreRefused) {
  const auto with = [](const std::string& offsets) {
    return TensorsProblem(SafetensorsFile(R"({"a":)" + Entry("F32", "[1]", offsets) + "}", "abcd"));
  };
  EXPECT_EQ(with("[0,4]"), "");
  EXPECT_THAT(with("[0,5]"), HasSubstr("outside the 4 bytes"));
  EXPECT_THAT(with("[4,0]"), HasSubstr("outside the 4 bytes"));
  EXPECT_THAT(with("[0,18446744073709551615]"), HasSubstr("data_offsets holds"));
  EXPECT_THAT(with("[0,3]"), HasSubstr("span 3 bytes, but f32 (1,) is 4"));
  EXPECT_THAT(TensorsProblem(SafetensorsFile(
                  R"({"a":)" + Entry("F32", "[4611686018427387904,4]", "[0,4]") + "}", "abcd")),
              HasSubstr("does not fit 63 bits"));
}

TEST(SafetensorsTest, OverlapsHolesAndRestsAreRefused) {
  const auto two = [](const std::string& a, const std::string& b) {
    return TensorsProblem(SafetensorsFile(
        R"({"a":)" + Entry("U8", "[2]", a) + R"(,"b":)" + Entry("U8", "[2]", b) + "}", "12345"));
  };
  EXPECT_EQ(two("[0,2]", "[1,3]"), "tensor 'b': its data overlap another tensor's");
  EXPECT_EQ(two("[0,2]", "[3,5]"), "tensor 'b': the 1 bytes before its data belong to no tensor");
  EXPECT_EQ(two("[0,2]", "[2,4]"), "bytes left over: the last 1 bytes belong to no tensor");
}

TEST(SafetensorsTest, NoMutationOfAFileCrashesTheReader) {
  std::mt19937_64 random(20261121);
  const std::string valid = SafetensorsFile(
      R"({"a":)" + Entry("F32", "[2,1]", "[0,8]") + R"(,"b":)" + Entry("I64", "[]", "[8,16]") + "}",
      std::string(16, 'x'));
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string file = valid.substr(0, random() % 4 == 0 ? random() % valid.size() : valid.size());
    for (std::uint64_t edits = random() % 3; edits > 0 && !file.empty(); --edits) {
      // Half of the edits are characters that JSON gives a meaning to.
      const char c =
          random() % 2 == 0 ? "{}[]\",:0129-"[random() % 12] : static_cast<char>(random());
      file[random() % file.size()] = c;
    }
    if (ParseTensors(file).ok()) ++accepted;
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace warpfold::client
