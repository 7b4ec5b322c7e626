// The .npz reader on archives that NumPy and libzip wrote, and on broken ones.
#include "client/cpp/cli/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/cli/npy.h"
#include "tests/client/zip_archive.h"

namespace warpfold::client {
namespace {

using testing::HasSubstr;

// np.savez_compressed(file, w=np.arange(6, dtype="<f4").reshape(2, 3), **{"layer/b": np.zeros(50,
// "<i8")}) of NumPy 1.24.2.
constexpr char kNumpyArchive[] =
    "UEsDBBQAAAAIAAAAIQBP6QAqVQAAAJgAAAAFABQAdy5ucHkBABAAmAAAAAAAAABVAAAAAAAAAJvsF+obEMnIUMZQ"
    "rZ6SWpxcpG6loG6TZqKuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6CsaaOgq1CmQDLgYwaLAHEg5A"
    "BMQNQLzAAQBQSwMEFAAAAAgAAAAhAKfz/lFKAAAAEAIAAAsAFABsYXllci9iLm5weQEAEAAQAgAAAAAAAEoAAAAA"
    "AAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNpoa6joJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkapgY6mjoK"
    "tQrkAy6GUTCoAABQSwECFAMUAAAACAAAACEAT+kAKlUAAACYAAAABQAAAAAAAAAAAAAAgAEAAAAAdy5ucHlQSwEC"
    "FAMUAAAACAAAACEAp/P+UUoAAAAQAgAACwAAAAAAAAAAAAAAgAGMAAAAbGF5ZXIvYi5ucHlQSwUGAAAAAAIAAgBs"
    "AAAAEwEAAAAA";

std::string Floats(const std::vector<float>& values) {
  return *NpyBytes({v1::DTYPE_F32,
                    {static_cast<std::int64_t>(values.size())},
                    {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}});
}

absl::StatusOr<NpzArchive> Read(const std::string& bytes) {
  return ReadNpz(std::as_bytes(std::span(bytes)));
}

// Replaces the only, or every, occurrence of `from`; both have the same length.
std::string Patched(std::string bytes, const std::string& from, const std::string& to) {
  std::size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos);
  for (; at != std::string::npos; at = bytes.find(from, at)) bytes.replace(at, to.size(), to);
  return bytes;
}

void ExpectRefused(const std::string& bytes, const std::string& problem) {
  const absl::StatusOr<NpzArchive> npz = Read(bytes);
  ASSERT_FALSE(npz.ok()) << problem;
  EXPECT_TRUE(absl::IsInvalidArgument(npz.status())) << npz.status();
  EXPECT_THAT(std::string(npz.status().message()), HasSubstr(problem));
}

TEST(NpzTest, NumpysArchiveIsRead) {
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(kNumpyArchive, &bytes));
  const absl::StatusOr<NpzArchive> npz = Read(bytes);
  ASSERT_TRUE(npz.ok()) << npz.status();
  ASSERT_EQ(npz->tensors.size(), 2u);
  const NamedTensor& w = npz->tensors[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dtype_name, "f32");
  EXPECT_EQ(w.view.shape, (std::vector<std::int64_t>{2, 3}));
  const float expected[] = {0, 1, 2, 3, 4, 5};
  ASSERT_EQ(w.view.data.size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(w.view.data.data(), expected, sizeof(expected)), 0);
  const NamedTensor& b = npz->tensors[1];
  EXPECT_EQ(b.name, "layer/b");
  EXPECT_EQ(b.view.dtype, v1::DTYPE_I64);
  EXPECT_EQ(std::string(400, '\0'),
            std::string(reinterpret_cast<const char*>(b.view.data.data()), b.view.data.size()));
}

TEST(NpzTest, StoredAndDeflatedMembersMix) {
  const std::vector<float> ones(100'000, 1.0f);
  const absl::StatusOr<NpzArchive> npz =
      Read(ZipArchive({{"stored.npy", Floats({1, 2}), ZIP_CM_STORE},
                       {"deflated.npy", Floats(ones), ZIP_CM_DEFLATE},
                       {"empty.npy", Floats({}), ZIP_CM_STORE}}));
  ASSERT_TRUE(npz.ok()) << npz.status();
  ASSERT_EQ(npz->tensors.size(), 3u);
  EXPECT_EQ(npz->tensors[0].name, "stored");
  EXPECT_EQ(npz->tensors[0].view.data.size(), 8u);
  EXPECT_EQ(std::memcmp(npz->tensors[1].view.data.data(), ones.data(), 400'000), 0);
  EXPECT_TRUE(npz->tensors[2].view.data.empty());
}

TEST(NpzTest, MembersThatSayNoDTypeAreWhatTheCallerSays) {
  // As NumPy writes a bfloat16 of ml_dtypes, beside a dtype that it has.
  const std::string halves = *NpyBytes({v1::DTYPE_F16, {2}, "abcd"});
  const std::string archive =
      ZipArchive({{"void.npy", Patched(halves, "<f2", "<V2")}, {"floats.npy", Floats({1})}});
  const auto read = [&](std::optional<DType> of_void) {
    return *ReadNpz(std::as_bytes(std::span(archive)), of_void);
  };
  EXPECT_EQ(read(v1::DTYPE_BF16).tensors[0].dtype_name, "bf16");
  EXPECT_EQ(read(v1::DTYPE_BF16).tensors[1].dtype_name, "f32");
  for (const std::optional<DType> wrong : {std::optional<DType>(), {v1::DTYPE_F8_E4M3}}) {
    EXPECT_THAT(read(wrong).tensors[0].problem, HasSubstr("--dtype says which it is"));
    EXPECT_EQ(read(wrong).tensors[1].problem, "");
  }
}

TEST(NpzTest, AnArchiveOfNothingHasNoTensors) {
  // What np.savez(file) writes: the end of an archive, and no member.
  const absl::StatusOr<NpzArchive> npz = Read("PK\x05\x06" + std::string(18, '\0'));
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_TRUE(npz->tensors.empty());
}

TEST(NpzTest, WhatIsNotAnArchiveIsRefused) {
  ExpectRefused("", "is not a .npz file");
  ExpectRefused("PK\x03\x04 and no more", "is not a .npz file");
  const std::string archive = ZipArchive({{"a.npy", Floats({1, 2, 3})}});
  ExpectRefused(archive.substr(0, archive.size() - 1), "is not a .npz file");
}

TEST(NpzTest, AMemberThatIsNotNpySpoilsNoArray) {
  const absl::StatusOr<NpzArchive> npz =
      Read(ZipArchive({{"README.txt", "hello"}, {"a.npy", Floats({1, 2})}, {"notes/", ""}}));
  ASSERT_TRUE(npz.ok()) << npz.status();
  ASSERT_EQ(npz->tensors.size(), 3u);
  EXPECT_EQ(npz->tensors[0].name, "README.txt");
  EXPECT_EQ(npz->tensors[0].problem, "is not a .npy file");
  EXPECT_EQ(npz->tensors[0].unread.size(), 5u);
  EXPECT_EQ(npz->tensors[1].name, "a");
  EXPECT_EQ(npz->tensors[1].problem, "");
  EXPECT_EQ(npz->tensors[2].name, "notes/");
  // The tensor "a" would be two.
  ExpectRefused(ZipArchive({{"a", "x"}, {"a.npy", Floats({1})}}),
                "member 'a.npy': the name comes twice");
}

TEST(NpzTest, AnArchiveOfNoArrayIsRefusedByItsFirstMember) {
  ExpectRefused(ZipArchive({{"archive/data.pkl", "x"}, {"archive/version", "3"}}),
                "member 'archive/data.pkl': is not .npy, so this is not a .npz file");
}

TEST(NpzTest, AMemberThatIsNoArrayIsRefusedByName) {
  ExpectRefused(ZipArchive({{"a.npy", "x"}}), "member 'a.npy': is not a .npy file");
  const std::string array = Floats({1, 2, 3});
  ExpectRefused(ZipArchive({{"a.npy", array.substr(0, array.size() - 1)}}),
                "member 'a.npy': truncated");
  ExpectRefused(Patched(ZipArchive({{"a.npy", array}, {"b.npy", array}}), "b.npy", "a.npy"),
                "member 'a.npy': the name comes twice");
}

TEST(NpzTest, DamagedBytesAreRefusedByTheirCrc) {
  const std::string mark = "\x11\x22\x33\x44";
  const std::string bytes =
      ZipArchive({{"a.npy", *NpyBytes({v1::DTYPE_F32, {1}, mark}), ZIP_CM_STORE}});
  ExpectRefused(Patched(bytes, mark, "\x11\x22\x33\x45"), "member 'a.npy': CRC error");
}

TEST(NpzTest, ASizeThatCannotBeIsRefusedBeforeMemoryIsTaken) {
  const std::string array = Floats({1, 2, 3});
  const std::string size(1, static_cast<char>(array.size()));  // below 256
  ASSERT_EQ(array.size() >> 8, 0u);
  const std::string little_endian = size + std::string(3, '\0');
  // Both sizes of a stored member stand side by side, in its own header and in the directory.
  const std::string bytes = ZipArchive({{"a.npy", array, ZIP_CM_STORE}});
  ExpectRefused(Patched(bytes, little_endian + little_endian,
                        little_endian + std::string("\xff\xff\xff\x7f", 4)),
                "member 'a.npy': 2147483647 bytes cannot come of the 140 in the archive");
}

// In the directory both sizes stand side by side, too: what is 4 GiB there would fit 4 TiB
// deflated.
TEST(NpzTest, ASizeInTheArchiveAboveItsOwnIsRefused) {
  const std::string array = Floats({1, 2, 3});
  const std::string little_endian =
      std::string(1, static_cast<char>(array.size())) + std::string(3, '\0');
  const std::string bytes = ZipArchive({{"a.npy", array, ZIP_CM_STORE}});
  ExpectRefused(Patched(bytes, little_endian + little_endian,
                        std::string("\xff\xff\xff\x7f\xff\xff\xff\x7f", 8)),
                absl::StrCat("member 'a.npy': ends behind the archive: it has 2147483647 bytes "
                             "there, of ",
                             bytes.size()));
}

TEST(NpzTest, OtherCompressionsAreRefused) {
  ExpectRefused(ZipArchive({{"a.npy", std::string(5000, 'a'), ZIP_CM_BZIP2}}),
                "member 'a.npy': compression 12 is neither stored nor deflated");
}

// Every prefix, and every archive with one byte changed, is read or refused, never worse.
TEST(NpzTest, NoDamageCrashesTheReader) {
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(kNumpyArchive, &bytes));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Read(bytes.substr(0, length)).ok()) << length;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      (void)Read(damaged);
    }
  }
}

}  // namespace
}  // namespace warpfold::client
