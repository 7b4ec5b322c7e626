// What `warpfold` reads through a pipe, once and in order; tests/e2e/large_files_test.py says how
// much memory that takes.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/client/cli_fixture.h"
#include "tests/client/zip_archive.h"

namespace warpfold::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class PipeCliTest : public CliTest {
 protected:
  // The program reads `file` through a pipe, by the name "-" or another.
  Outcome RunPiped(const std::string& file, const std::string& arguments) const {
    return RunAt(absl::StrCat("cat '", file, "' | WARPFOLD_TARGET=", server_.address()), arguments);
  }

  void ExpectPipeFailure(const std::string& bytes, const std::string& arguments,
                         const std::string& problem) const {
    const Outcome outcome = RunPiped(WriteFile("input", bytes), arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("warpfold: stdin: " + problem)) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
  }

  static std::string Checkpoint() {
    const float values[] = {1, 2, 3, -4, 5};
    return SafetensorsFile(R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[2,18]},)"
                           R"("e8":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]},)"
                           R"("none":{"dtype":"F32","shape":[0],"data_offsets":[18,18]},)"
                           R"("z":{"dtype":"F32","shape":[1],"data_offsets":[18,22]}})",
                           "ab" + std::string(reinterpret_cast<const char*>(values), 20));
  }
};

TEST_F(PipeCliTest, EachFormatReadsAsItsFile) {
  const auto npy = WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 3}, {1, 2, 3, 4, 5, 7});
  const auto tensors = WriteFile("m.safetensors", Checkpoint());
  const auto raw = WriteFile("a.bin", std::string(24, 'x'));
  const std::pair<std::string, std::string> cases[] = {
      {npy, ""}, {tensors, ""}, {raw, " --dtype i32"}, {raw, " --dtype i64 --shape 3,1"}};
  for (const auto& [file, flags] : cases) {
    const std::string arguments = file + flags;
    json expected = json::parse(Run("describe --json " + arguments).out)["tensors"];
    if (file != tensors) expected[0]["name"] = "stdin";
    for (const char* name : {"- ", "/dev/stdin "}) {
      const Outcome outcome = RunPiped(file, "describe --json " + (name + flags));
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_EQ(json::parse(outcome.out)["tensors"], expected) << file << flags;
    }
  }
}

TEST_F(PipeCliTest, ProcessSubstitutionIsAPipe) {
  const auto npy = WriteArray<float>("a.npy", v1::DTYPE_F32, {3}, {1, 2, 4});
  const Outcome outcome = RunAt("WARPFOLD_TARGET=" + server_.address() + " bash -c \"",
                                "reduce <(cat " + npy + ") --op max\"");
  EXPECT_EQ(outcome.out, "4.0\n") << outcome.err;
}

TEST_F(PipeCliTest, OneTensorIsReducedAndTheRestIsStillLookedAt) {
  const auto tensors = WriteFile("m.safetensors", Checkpoint());
  EXPECT_EQ(RunPiped(tensors, "reduce - --tensor z --op sum").out, "5.0\n");
  EXPECT_EQ(RunPiped(tensors, "reduce - --tensor w --op sum --axis 0").out, "[ 4. -2.]\n");
  EXPECT_EQ(RunPiped(tensors, "reduce - --tensor v --op sum").exit_code, 2);
  ExpectPipeFailure(Checkpoint() + "x", "reduce - --tensor w --op sum",
                    "bytes left over: the last 1");
}

TEST_F(PipeCliTest, WhatIsNotWholeIsRefusedAsInAFile) {
  const std::string npy = *NpyBytes({v1::DTYPE_F32, {2}, "12345678"});
  const std::string one_less = npy.substr(0, npy.size() - 1);
  for (const std::string command : {"describe -", "reduce - --op sum"}) {
    ExpectPipeFailure(one_less, command, "");
    ExpectPipeFailure(npy + "x", command, "");
  }
  ExpectPipeFailure(one_less, "reduce - --op sum",
                    "truncated: f32 (2,) is 8 bytes, but 7 follow the header");
  ExpectPipeFailure(npy + "x", "reduce - --op sum",
                    "bytes left over: f32 (2,) is 8 bytes, but 9 follow the header");
  ExpectPipeFailure(npy.substr(0, 40), "describe -", "truncated in its npy header");
  ExpectPipeFailure(npy.substr(0, 6), "describe -", "truncated in its npy header");
  const std::string tensors = Checkpoint();
  ExpectPipeFailure(tensors.substr(0, tensors.size() - 1), "describe -",
                    "tensor 'z': truncated: the header is of 22 bytes of data, but 21 follow it");
  ExpectPipeFailure(tensors.substr(0, 50), "describe -", "header: a length of ");
  ExpectPipeFailure(tensors + "xyz", "describe -", "bytes left over: the last 3 bytes");
  ExpectPipeFailure("12345", "reduce - --op sum --dtype f32", "5 bytes are no whole number of f32");
  ExpectPipeFailure("1234", "reduce - --op sum --dtype f32 --shape 2",
                    "f32 (2,) is 8 bytes, but there are 4");
  ExpectPipeFailure("123456789", "reduce - --op sum --dtype f32 --shape 2",
                    "f32 (2,) is 8 bytes, but there are 9");
  ExpectPipeFailure("", "describe -", "is empty\n");
  ExpectPipeFailure("nothing known", "describe -",
                    "is no .npy, .npz or .safetensors file; raw bytes need");
  ExpectPipeFailure(one_less, "describe -", "truncated: f32 (2,) is 8 bytes");
}

TEST_F(PipeCliTest, ALengthThatLiesTakesNoMemory) {
  ExpectPipeFailure(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12), "describe -",
                    "an npy header of 4294967307 bytes is over the limit of 1048576");
  ExpectPipeFailure(std::string(8, '\xff') + "{}", "describe -",
                    "header: a length of 18446744073709551615 bytes is over");
}

TEST_F(PipeCliTest, NothingIsAnArrayOfNoElements) {
  const auto nothing = WriteFile("nothing", "");
  const json tensor =
      json::parse(RunPiped(nothing, "describe --json - --dtype f32").out)["tensors"][0];
  EXPECT_EQ(tensor["shape"], json::array({0}));
  EXPECT_EQ(tensor["sum"], 0.0);
}

TEST_F(PipeCliTest, AProcessSubstitutionHasTheNameThatTheShellGaveIt) {
  const auto npy = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const Outcome outcome =
      RunShell("WARPFOLD_TARGET=" + server_.address() +
               " bash -c \"'" WARPFOLD_CLI "' describe --json <(cat '" + npy + "')\"");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(json::parse(outcome.out)["tensors"][0]["name"].get<std::string>(),
              testing::StartsWith("/dev/fd/"));
}

TEST_F(PipeCliTest, ANpzArchiveIsToBeAFile) {
  ExpectPipeFailure(ZipArchive({{"w.npy", *NpyBytes({v1::DTYPE_I32, {1}, {"\7\0\0\0", 4}})}}),
                    "describe -",
                    "a .npz file has the list of its members at its end and cannot be read from a "
                    "pipe: write it to a file first\n");
}

TEST_F(PipeCliTest, DiffReadsAPipeAsOftenAsItNeeds) {
  const auto a = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const auto b = WriteArray<float>("b.npy", v1::DTYPE_F32, {2}, {1, 3});
  EXPECT_EQ(RunPiped(a, "diff " + a + " -").exit_code, 0);
  const Outcome outcome = RunPiped(a, "diff - " + b);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 -> 3"));
  const Outcome full = RunAt("cat " + a + " | TMPDIR=/nowhere", "diff - " + b);
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_THAT(full.err, HasSubstr("stdin: cannot be copied to /nowhere/warpfold-"));
}

TEST_F(PipeCliTest, WhatIsLeftOfAFileIsReadLikeAPipe) {
  const auto file = WriteFile("a.bin", std::string("skip") + std::string("\1\0\0\0\2\0\0\0", 8));
  const Outcome outcome =
      RunShell("{ dd bs=4 count=1 of=/dev/null 2>/dev/null; WARPFOLD_TARGET=" + server_.address() +
               " '" WARPFOLD_CLI "' reduce - --dtype i32 --op sum; } < " + file);
  EXPECT_EQ(outcome.out, "3\n") << outcome.err;
}

}  // namespace
}  // namespace warpfold::client
