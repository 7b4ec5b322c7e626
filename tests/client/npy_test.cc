// The .npy reader, on files made here byte by byte: the format's document is the oracle, not the
// writer under test.
#include "client/cpp/cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"

namespace warpfold::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string NpyFile(const std::string& header, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY";
  file.push_back(static_cast<char>(version));
  file.push_back(0);
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  }
  return file + header + data;
}

std::string HeaderFor(const std::string& descr, const std::string& shape,
                      const std::string& fortran_order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape +
         ", }          \n";
}

absl::StatusOr<TensorView> ParseText(const std::string& file) {
  absl::StatusOr<NpyArray> array = ParseNpy(std::as_bytes(std::span(file)));
  if (!array.ok()) return array.status();
  return array->view;
}

Layout LayoutOf(const std::string& file) {
  return ParseNpy(std::as_bytes(std::span(file))).value().layout;
}

std::string Problem(const std::string& file) {
  return std::string(ParseText(file).status().message());
}

TEST(NpyTest, AllThreeVersionsAreRead) {
  for (const int version : {1, 2, 3}) {
    const std::string file = NpyFile(HeaderFor("<f4", "(2, 3)"), std::string(24, 'x'), version);
    const auto tensor = ParseText(file);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->dtype, v1::DTYPE_F32);
    EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
    EXPECT_EQ(static_cast<const void*>(tensor->data.data()), file.data() + file.size() - 24);
    EXPECT_EQ(tensor->data.size(), 24u);
  }
}

TEST(NpyTest, ScalarsVectorsEmptyArraysAndLongIntegersAreRead) {
  EXPECT_THAT(ParseText(NpyFile(HeaderFor("<f8", "()"), std::string(8, 'x')))->shape,
              ElementsAre());
  EXPECT_THAT(ParseText(NpyFile(HeaderFor("<i8", "(5,)"), std::string(40, 'x')))->shape,
              ElementsAre(5));
  EXPECT_THAT(ParseText(NpyFile(HeaderFor("<i4", "(4, 0, 7)"), ""))->shape, ElementsAre(4, 0, 7));
  EXPECT_THAT(ParseText(NpyFile(HeaderFor("|u1", "(3L, 2L)"), "abcdef"))->shape, ElementsAre(3, 2));
  EXPECT_THAT(
      ParseText(NpyFile("{\"shape\":(1,),\"descr\":\"|b1\",\"fortran_order\":True}", "a"))->shape,
      ElementsAre(1));
}

TEST(NpyTest, EveryDTypeOfTheContractThatNumpyHasIsKnown) {
  const std::pair<const char*, DType> known[] = {
      {"|b1", v1::DTYPE_BOOL}, {"|i1", v1::DTYPE_I8},  {"|u1", v1::DTYPE_U8},
      {"<i2", v1::DTYPE_I16},  {"<u2", v1::DTYPE_U16}, {"<i4", v1::DTYPE_I32},
      {"<u4", v1::DTYPE_U32},  {"<i8", v1::DTYPE_I64}, {"<u8", v1::DTYPE_U64},
      {"<f2", v1::DTYPE_F16},  {"<f4", v1::DTYPE_F32}, {"<f8", v1::DTYPE_F64}};
  for (const auto& [descr, dtype] : known) {
    const auto tensor =
        ParseText(NpyFile(HeaderFor(descr, "()"), std::string(ElementBytes(dtype), 'x')));
    ASSERT_TRUE(tensor.ok()) << descr << tensor.status();
    EXPECT_EQ(tensor->dtype, dtype) << descr;
  }
}

TEST(NpyTest, WhatCannotBeReducedIsRefusedWithItsReason) {
  EXPECT_THAT(Problem(NpyFile(HeaderFor("|O", "()"), "abcd")), HasSubstr("Python objects"));
  EXPECT_THAT(
      Problem(NpyFile("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
      HasSubstr("records"));
  // NumPy writes ml_dtypes' bfloat16 and float8_e4m3fn so.
  for (const char* descr : {"<V2", "|V1"}) {
    EXPECT_THAT(Problem(NpyFile(HeaderFor(descr, "()"), "ab")),
                HasSubstr("--dtype says which it is: bf16, f8_e4m3 or f8_e5m2"));
  }
}

TEST(NpyTest, BytesOfADTypeThatNumpyDoesNotHaveAreWhatTheCallerSays) {
  const auto parse = [](const std::string& descr, const std::string& data, DType dtype) {
    const std::string file = NpyFile(HeaderFor(descr, "(2,)"), data);
    absl::StatusOr<NpyArray> array = ParseNpy(std::as_bytes(std::span(file)), dtype);
    return array.ok() ? absl::StrCat(Name(array->view.dtype)) : array.status().ToString();
  };
  EXPECT_EQ(parse("<V1", "ab", v1::DTYPE_F8_E4M3), "f8_e4m3");
  EXPECT_EQ(parse("|V1", "ab", v1::DTYPE_F8_E5M2), "f8_e5m2");
  EXPECT_EQ(parse("<V2", "abcd", v1::DTYPE_BF16), "bf16");
  EXPECT_THAT(parse("<V2", "abcd", v1::DTYPE_F8_E4M3),
              HasSubstr("--dtype: f8_e4m3 is '|V1', and the file holds '<V2'"));
  EXPECT_THAT(parse("<f2", "abcd", v1::DTYPE_BF16),
              HasSubstr("--dtype: the file says its own, '<f2'"));
  EXPECT_THAT(parse("<f1", "ab", v1::DTYPE_F8_E4M3),
              HasSubstr("--dtype: the file says its own, '<f1'"));
  // What the file says itself may be said again.
  EXPECT_EQ(parse("<f1", "ab", v1::DTYPE_F8_E5M2), "f8_e5m2");
  EXPECT_EQ(parse("<f4", "abcdefgh", v1::DTYPE_F32), "f32");
  // ml_dtypes has a name for this one.
  EXPECT_EQ(ParseText(NpyFile(HeaderFor("<f1", "()"), "a"))->dtype, v1::DTYPE_F8_E5M2);
}

TEST(NpyTest, TheLayoutIsTheHeaders) {
  EXPECT_TRUE(LayoutOf(NpyFile(HeaderFor(">f4", "()"), "abcd")).is_big_endian);
  EXPECT_FALSE(LayoutOf(NpyFile(HeaderFor("<f4", "()"), "abcd")).is_big_endian);
  EXPECT_FALSE(LayoutOf(NpyFile(HeaderFor("|b1", "()"), "a")).is_big_endian);
  EXPECT_FALSE(LayoutOf(NpyFile(HeaderFor(">i1", "()"), "a")).is_big_endian);  // nothing to turn
  EXPECT_TRUE(LayoutOf(NpyFile(HeaderFor("<f4", "(1, 1)", "True"), "abcd")).is_fortran);
  EXPECT_FALSE(LayoutOf(NpyFile(HeaderFor("<f4", "(1, 1)"), "abcd")).is_fortran);
  EXPECT_FALSE(LayoutOf(NpyFile(HeaderFor("<f4", "(1,)", "True"), "abcd")).is_fortran);
}

TEST(NpyTest, ByteCountsThatDoNotFitAreRefused) {
  EXPECT_EQ(Problem(NpyFile(HeaderFor("<f4", "(3,)"), std::string(11, 'x'))),
            "truncated: f32 (3,) is 12 bytes, but 11 follow the header");
  EXPECT_EQ(Problem(NpyFile(HeaderFor("<f4", "(3,)"), std::string(13, 'x'))),
            "bytes left over: f32 (3,) is 12 bytes, but 13 follow the header");
  EXPECT_THAT(Problem(NpyFile(HeaderFor("<f4", "(-3,)"), "")), HasSubstr("negative"));
  EXPECT_THAT(Problem(NpyFile(HeaderFor("<f4", "(4611686018427387904, 2)"), "")),
              HasSubstr("does not fit 63 bits"));
  EXPECT_THAT(Problem(NpyFile(HeaderFor("<f4", "(4611686018427387904,)"), "")),
              HasSubstr("do not fit 63 bits"));
  EXPECT_THAT(Problem(NpyFile(HeaderFor("<f4", "(99999999999999999999,)"), "")),
              HasSubstr("lengths that fit 63 bits"));
}

TEST(NpyTest, BrokenHeadersAreRefused) {
  EXPECT_EQ(Problem(""), "is not a .npy file");
  EXPECT_EQ(Problem("PK\x03\x04"), "is not a .npy file");
  EXPECT_THAT(Problem("\x93NUMPY"), HasSubstr("truncated"));
  EXPECT_THAT(Problem(NpyFile("{}", "", 4)), HasSubstr("version 4"));
  EXPECT_THAT(Problem(NpyFile("{}", "")), HasSubstr("needs the keys"));
  EXPECT_THAT(Problem(NpyFile(HeaderFor("<f4", "()"), "").substr(0, 40)), HasSubstr("truncated"));
  EXPECT_THAT(Problem(NpyFile("{'descr': '<f4', 'descr': '<f4'}", "")), HasSubstr("comes twice"));
  EXPECT_THAT(Problem(NpyFile("{'descr': '<f4", "")), HasSubstr("expected descr"));
  EXPECT_THAT(Problem(NpyFile(HeaderFor("<f4", "()") + "x", "abcd")), HasSubstr("after the '}'"));
}

TEST(NpyTest, WhatIsWrittenIsReadBack) {
  const Tensor tensor{v1::DTYPE_I32, {2, 2}, std::string("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16)};
  const auto file = NpyBytes(tensor);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((file->size() - 16) % 64, 0u);  // the data are aligned, as the format asks
  const auto back = ParseText(*file);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->dtype, tensor.dtype);
  EXPECT_EQ(back->shape, tensor.shape);
  EXPECT_EQ(NpyBytes({v1::DTYPE_BF16, {}, "ab"}).status().code(), absl::StatusCode::kUnimplemented);
}

// Run under AddressSanitizer this also shows that nothing is read past the end.
TEST(NpyTest, ATransposeLeavesTheLastDimensionsWhereTheyAre) {
  const Tensor tensor{v1::DTYPE_U8, {2, 3, 2}, "aAbBcCdDeEfF"};
  EXPECT_EQ(Reversed(tensor, 0).data, "adbecfADBECF");
  const Tensor of_pairs = Reversed(tensor, 1);
  EXPECT_THAT(of_pairs.shape, ElementsAre(3, 2, 2));
  EXPECT_EQ(of_pairs.data, "aAdDbBeEcCfF");
}

TEST(NpyTest, NoMutationOfAFileCrashesTheReader) {
  std::mt19937_64 random(20261121);
  const std::string valid = NpyFile(HeaderFor("<f4", "(2, 3)"), std::string(24, 'x'));
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string file = valid.substr(0, random() % 4 == 0 ? random() % valid.size() : valid.size());
    for (std::uint64_t edits = random() % 4; edits > 0 && !file.empty(); --edits) {
      file[random() % std::min<std::size_t>(file.size(), 80)] = static_cast<char>(random());
    }
    const auto tensor = ParseText(file);
    if (tensor.ok()) ++accepted;
  }
  EXPECT_GT(accepted, 0);  // the mutations are not all hopeless
}

TEST(NpyTest, WhatHoldsNoNumbersIsCalledByName) {
  for (const auto& [descr, what] : std::vector<std::pair<std::string, std::string>>{
           {"<c16", "complex numbers; save a.real and a.imag by themselves"},
           {">c8", "complex numbers; save a.real and a.imag by themselves"},
           {"<U5", "text, not numbers"},
           {"|S3", "text (bytes), not numbers"},
           {"<M8[ns]", "dates; save a.astype('i8'), their ticks since 1970"},
           {"<m8[s]", "time differences; save a.astype('i8'), their ticks"}}) {
    EXPECT_EQ(Problem(NpyFile(HeaderFor(descr, "()"), "")),
              absl::StrCat("descr: '", descr, "': the file holds ", what));
  }
  EXPECT_EQ(Problem(NpyFile(HeaderFor("<f16", "()"), "")),
            "descr: '<f16' is not a dtype that warpfold knows");
}

}  // namespace
}  // namespace warpfold::client
