// What `warpfold` reads: every format, from files and from stdin.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/client/cli_fixture.h"
#include "tests/client/zip_archive.h"

namespace warpfold::client {
namespace {

using nlohmann::json;

std::string RawFloats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

constexpr char kTwoTensors[] = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";

TEST_F(CliTest, RawBytesTakeTheirTypeAndShapeFromTheUser) {
  const auto file = WriteFile("a.bin", RawFloats({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Run("reduce " + file + " --dtype f32 --op sum").out, "21.0\n");
  EXPECT_EQ(Run("reduce " + file + " --dtype f32 --shape 2,3 --op sum --axis 0").out,
            "[5. 7. 9.]\n");
  const json tensor =
      json::parse(Run("describe --json --dtype f32 --shape 3,2 " + file).out)["tensors"][0];
  EXPECT_EQ(tensor["name"], "a");
  EXPECT_EQ(tensor["shape"], json::array({3, 2}));
  EXPECT_EQ(tensor["max"], 6.0);
}

TEST_F(CliTest, RawBytesThatDoNotFitAreRefused) {
  const auto file = WriteFile("a.bin", RawFloats({1, 2, 3}));
  ExpectFailure("describe " + file, 2, "a.bin: is no .npy, .npz or .safetensors file; raw bytes");
  ExpectFailure("describe " + file + " --dtype f64", 2, "12 bytes are no whole number of f64");
  ExpectFailure("describe " + file + " --dtype f32 --shape 2,2", 2,
                "f32 (2, 2) is 16 bytes, but there are 12");
  ExpectFailure("describe " + file + " --dtype f32 --shape 3,-1", 2, "negative dimension");
  ExpectFailure("describe " + file + " --dtype float", 2, "dtype: 'float' is none of bool, i8");
  ExpectFailure("describe " + file + " --shape 3", 2, "--shape: is for raw bytes");
  const auto npy = WriteArray<float>("a.npy", v1::DTYPE_F32, {1}, {1});
  ExpectFailure("describe " + npy + " --dtype i32", 2,
                "a.npy: --dtype: the file says its own, '<f4'");
  ExpectFailure("describe " + npy + " --dtype f32 --shape 1", 2, "a.npy says its own");
  const auto tensors = WriteFile("a.safetensors", SafetensorsFile(kTwoTensors, RawFloats({1})));
  ExpectFailure("describe " + tensors + " --dtype f32", 2, "a.safetensors says its own");
}

TEST_F(CliTest, StdinIsReadWhateverItsFormat) {
  const auto npy = WriteArray<float>("a.npy", v1::DTYPE_F32, {3}, {1, 2, 3});
  EXPECT_EQ(Run("reduce - --op sum < " + npy).out, "6.0\n");
  const auto raw = WriteFile("a.bin", RawFloats({1, 2}));
  EXPECT_EQ(Run("reduce - --dtype f32 --op max < " + raw).out, "2.0\n");
  const auto tensors = WriteFile("a", SafetensorsFile(kTwoTensors, RawFloats({1, 2, 3})));
  const json report = json::parse(Run("describe --json - < " + tensors).out);
  EXPECT_EQ(report["file"], "-");
  EXPECT_EQ(report["tensors"][1]["name"], "b");
  const json one = json::parse(Run("describe --json - < " + npy).out);
  EXPECT_EQ(one["tensors"][0]["name"], "stdin");
  ExpectFailure("describe - < /dev/null", 2, "warpfold: stdin: is empty\n");
}

TEST_F(CliTest, ALongPipeIsReadWhole) {
  const auto file = WriteArray<std::int32_t>("a.npy", v1::DTYPE_I32, {3 << 20},
                                             std::vector<std::int32_t>(3 << 20, 1));
  const std::string command = "cat " + file + " | WARPFOLD_TARGET=" + server_.address();
  EXPECT_EQ(RunAt(command, "reduce - --op sum").out, "3145728\n");
}

TEST_F(CliTest, OneOfSeveralTensorsIsChosenByName) {
  const auto file = WriteFile("m.safetensors", SafetensorsFile(kTwoTensors, RawFloats({1, 2, 3})));
  EXPECT_EQ(Run("reduce " + file + " --tensor a --op sum").out, "3.0\n");
  EXPECT_EQ(Run("reduce " + file + " --tensor b --op sum").out, "3.0\n");
  EXPECT_EQ(json::parse(Run("reduce --json --tensor a --op max " + file).out)["tensor"], "a");
  ExpectFailure("reduce " + file + " --op sum", 2,
                "m.safetensors: has 2 tensors; --tensor takes one of a, b");
  ExpectFailure("reduce " + file + " --tensor c --op sum", 2, "has no tensor 'c'; there are a, b");
}

TEST_F(CliTest, AnOddMemberSpoilsNoNpz) {
  const std::string good = *NpyBytes({v1::DTYPE_I32, {1}, {"\7\0\0\0", 4}});
  std::string odd = good;
  odd.replace(odd.find("<i4"), 3, "|O8");
  const auto file = WriteFile("a.npz", ZipArchive({{"odd.npy", odd}, {"w.npy", good}}));
  const Outcome text = Run("describe " + file);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::HasSubstr("descr: the file holds Python objects, not numbers"));
  const json tensors = json::parse(Run("describe --json " + file).out)["tensors"];
  EXPECT_EQ(tensors[0]["name"], "odd");
  for (const char* key : {"shape", "count", "bytes", "max"}) {
    EXPECT_TRUE(tensors[0][key].is_null()) << key;
  }
  EXPECT_THAT(text.out, testing::ContainsRegex("odd +- +- +- +- "));
  EXPECT_EQ(tensors[1]["max"], 7);
  EXPECT_EQ(Run("reduce --tensor w " + file + " --op sum").out, "7\n");
  ExpectFailure("reduce --tensor odd " + file + " --op sum", 2,
                "a.npz: tensor 'odd': descr: the file holds Python objects");
  EXPECT_EQ(Run("describe --fail-on nan " + file).exit_code, 2);
}

TEST_F(CliTest, AFileOfNoBytesIsEmptyWhateverItsName) {
  for (const char* name : {"a.npy", "a.npz", "a.safetensors", "a.bin"}) {
    ExpectFailure("describe " + WriteFile(name, ""), 2, absl::StrCat(name, ": is empty\n"));
    ExpectFailure("diff " + Path(name) + " " + Path(name), 2, absl::StrCat(name, ": is empty\n"));
  }
}

TEST_F(CliTest, AMemberThatIsNotNpyIsANoteInItsNpz) {
  const std::string good = *NpyBytes({v1::DTYPE_I32, {1}, {"\7\0\0\0", 4}});
  const auto file = WriteFile("a.npz", ZipArchive({{"README.txt", "hi"}, {"w.npy", good}}));
  const Outcome text = Run("describe " + file);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::ContainsRegex("README.txt +- +- +- .* is not a .npy file\n"));
  EXPECT_EQ(Run("reduce --tensor w " + file + " --op sum").out, "7\n");
  const auto other = WriteFile("b.npz", ZipArchive({{"README.txt", "ho"}, {"w.npy", good}}));
  const Outcome diff = Run("diff " + file + " " + other);
  EXPECT_EQ(diff.exit_code, 1) << diff.err;
  EXPECT_THAT(diff.out, testing::ContainsRegex("README.txt +bytes .* is not a .npy file\n"));
  EXPECT_THAT(diff.out, testing::HasSubstr("1 identical, 1 changed"));
  EXPECT_EQ(Run("diff " + file + " " + file).exit_code, 0);
  ExpectFailure("describe " + WriteFile("c.npz", ZipArchive({{"data.pkl", "x"}})), 2,
                "c.npz: member 'data.pkl': is not .npy, so this is not a .npz file\n");
}

TEST_F(CliTest, ANarrowTerminalHasNoLongerLines) {
  const std::string good = *NpyBytes({v1::DTYPE_I32, {1}, {"\7\0\0\0", 4}});
  std::string odd = good;
  odd.replace(odd.find("<i4"), 3, "|O8");
  const auto file = WriteFile("a.npz", ZipArchive({{"odd.npy", odd}, {"w.npy", good}}));
  const auto longest = [](const std::string& text) {
    std::size_t most = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      most = std::max(most, line.substr(0, line.find('\r')).size());
    }
    return most;
  };
  const Outcome table = RunOnTerminal("--server " + server_.address() + " describe " + file, 70);
  EXPECT_THAT(table.out, testing::HasSubstr("\n  descr: the file holds Python objects, not"));
  EXPECT_LE(longest(table.out), 70u) << table.out;
  for (const char* help : {"--help", "describe --help", "help bench", "help"}) {
    const Outcome outcome = RunOnTerminal(help, 50);
    EXPECT_LE(longest(outcome.out), 50u) << outcome.out;
    EXPECT_GT(longest(outcome.out), 30u) << outcome.out;
  }
}

TEST_F(CliTest, NpzIsReadByItsNameAndFromStdin) {
  const std::string archive =
      ZipArchive({{"w.npy", *NpyBytes({v1::DTYPE_I32, {1}, {"\7\0\0\0", 4}})}});
  const auto file = WriteFile("a.npz", archive);
  EXPECT_EQ(Run("reduce " + file + " --op sum").out, "7\n");
  EXPECT_EQ(Run("reduce - --op sum < " + file).out, "7\n");
  EXPECT_EQ(json::parse(Run("describe --json " + file).out)["tensors"][0]["name"], "w");
  ExpectFailure("describe " + WriteFile("b.npz", archive.substr(1)), 2, "b.npz: is not a .npz");
}

}  // namespace
}  // namespace warpfold::client
