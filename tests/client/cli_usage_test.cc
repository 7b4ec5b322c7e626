// What `warpfold` makes of its arguments: help, wrong usage and what is said of it.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/cli_fixture.h"

namespace warpfold::client {
namespace {

using testing::HasSubstr;

TEST_F(CliTest, WrongUsageIsExitCode2) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  ExpectFailure("reduce " + file, 2, "--op is required");
  ExpectFailure("reduce " + file + " --op average", 2, "op: 'average' is none of sum, min");
  ExpectFailure("reduce " + file + " --op sum --axis x", 2, "--axis");
  ExpectFailure("reduce " + file + " --op sum --axis 3", 2, "a.npy: axes: 3 is out of range");
  ExpectFailure("reduce " + file + " --op prod", 2, "ops: not in this server");
  ExpectFailure("describe", 2, "FILE is required");
  ExpectFailure("describe " + file + " --jobs 0", 2, "--jobs");
  ExpectFailure("--timeout 0 info", 2, "--timeout");
  ExpectFailure("describe " + WriteFile("a.bin", "x"), 2, "a.bin: is no .npy, .npz or .safetens");
}

// One line each, whoever finds the fault.
TEST_F(CliTest, WrongUsageIsSaidInOneStyle) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const std::string sum = "reduce " + file + " --op sum ";
  for (const auto& [arguments, text] : std::vector<std::pair<std::string, std::string>>{
           {"",
            "a command is required, one of reduce, describe, diff, watch, bench, info, health, "
            "help; warpfold help says more"},
           {"--json",
            "a command is required, one of reduce, describe, diff, watch, bench, info, "
            "health, help; warpfold help says more"},
           {"reduce " + file, "--op is required"},
           {"describe", "FILE is required; - is stdin"},
           {"diff", "A is required"},
           {"diff " + file, "B is required"},
           {"completion", "SHELL is required"},
           {"completion tcsh", "SHELL: tcsh not in {bash,zsh,fish}"},
           {"info --server", "--server: needs a value"},
           {sum + "--axis", "--axis: needs a value"},
           {sum + "--axis x", "--axis: 'x' is no number"},
           {sum + "--axis 0.5", "--axis: '0.5' is not a whole number"},
           {sum + "--ddof 1e400", "--ddof: '1e400' is no number"},
           {sum + "--ddof inf", "--ddof: 'inf' is no number"},
           {sum + "--ddof nan", "--ddof: 'nan' is no number"},
           {"describe a --jobs 0", "--jobs: 0 is not 1 to 64"},
           {"describe a --jobs x", "--jobs: 'x' is no number"},
           {"describe a --jobs 99999999999999999999",
            "--jobs: 99999999999999999999 is out of range"},
           {"describe a --jobs=", "--jobs: is empty"},
           {"bench --spin-us -1", "--spin-us: -1 is negative"},
           {"bench --size 1KiB --size 2KiB", "--size: takes one value, and has several"},
           {"info --timeout 0", "--timeout: 0 is not 0.001 to 1e+06"},
           {"info --timeout nan", "--timeout: 'nan' is no number"},
           {"info --tls=maybe", "--tls: does not take 'maybe'"},
           {"--color purple info", "--color: purple not in {auto,always,never}"}}) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.err, "warpfold: " + text + "\n") << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
  }
}

TEST_F(CliTest, AWholeNumberMayHaveADecimalPoint) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Run("reduce " + file + " --op sum --axis 1.0 --ddof=1.0").out, "[3. 7.]\n");
  EXPECT_EQ(Run("describe --jobs 2.0 " + file).exit_code, 0);
}

TEST_F(CliTest, AnUnknownCommandNamesTheNearest) {
  ExpectFailure("desribe a.npy", 2, "warpfold: no command 'desribe'; did you mean describe?\n");
  // Also near enough to help, which comes later.
  ExpectFailure("healh", 2, "no command 'healh'; did you mean health?");
  ExpectFailure("--server x:1 dif a b", 2, "no command 'dif'; did you mean diff?");
  ExpectFailure("frobnicate", 2,
                "no command 'frobnicate'; the commands are reduce, describe, diff");
  ExpectFailure("desc a.npy", 2, "no command 'desc'; did you mean describe?");
  ExpectFailure("help wtach", 2, "no command 'wtach'; did you mean watch?");
}

TEST_F(CliTest, AnUnknownOptionNamesTheNearest) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2}, {1, 2});
  const std::string sum = "reduce " + file + " --op sum ";
  ExpectFailure(sum + "--omitnan", 2,
                "warpfold: no option '--omitnan'; did you mean --omit-nan?\n");
  ExpectFailure(sum + "--axes=0", 2, "no option '--axes'; did you mean --axis?\n");
  ExpectFailure("info --sever x:1", 2, "no option '--sever'; did you mean --server?\n");
  ExpectFailure("bench --seconds 2", 2,
                "warpfold: no option '--seconds'; warpfold help bench lists the options\n");
  ExpectFailure("--frobnicate info", 2, "no option '--frobnicate'; warpfold help");
  ExpectFailure("info -", 2, "no option '-'");
  // Also where something is missing, or wrong, too.
  ExpectFailure("reduce " + file + " --ops sum", 2,
                "warpfold: no option '--ops'; did you mean --op?\n");
  ExpectFailure("describe --omitnan", 2, "no option '--omitnan'; did you mean --omit-nan?\n");
  ExpectFailure("describe a --jobs 0 --omitnan", 2, "no option '--omitnan'; did you mean");
  ExpectFailure("diff a b --tol 1", 2, "warpfold: no option '--tol'; did you mean --tolerance?\n");
  ExpectFailure("bench one two", 2, "warpfold: not expected: one two\n");
}

TEST_F(CliTest, ATargetThatIsNoneIsRefused) {
  ExpectFailure("--server http://localhost:50051 info", 2,
                "'http://localhost:50051' is a URL; a target has no http://: localhost:50051\n");
  ExpectFailure("watch --target localhost:70000", 2,
                "warpfold: --target: 'localhost:70000': port 70000 is above 65535\n");
  for (const char* target : {"localhost:39173abc", "localhost:39173\\ 0", "localhost:39173/foo",
                             "localhost:5005x", "localhost:-1", "localhost:"}) {
    ExpectFailure(absl::StrCat("health --server ", target), 2, "warpfold: --server: 'localhost:");
    ExpectFailure(absl::StrCat("bench --server=", target), 2, "warpfold: --server: 'localhost:");
    ExpectFailure(absl::StrCat("info --target ", target), 2, "warpfold: --target: 'localhost:");
    const Outcome outcome = RunAt(absl::StrCat("WARPFOLD_TARGET=", target), "info");
    EXPECT_EQ(outcome.exit_code, 2) << target;
    EXPECT_THAT(outcome.err, HasSubstr("warpfold: WARPFOLD_TARGET: 'localhost:"));
  }
  ExpectFailure("--server '' info", 2, "warpfold: --server: is empty\n");
  ExpectFailure("info --server=", 2, "warpfold: --server: is empty\n");
  ExpectFailure("info --target ''", 2, "warpfold: --target: is empty\n");
  const Outcome outcome = RunAt("WARPFOLD_TARGET=https://a/", "info");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("'https://a/' is a URL; a target has no https://: a\n"));
}

TEST_F(CliTest, MessagesNameWhatWasMeant) {
  const auto raw = WriteFile("a.bin", "abcdefgh");
  for (const auto& [given, meant] : {std::pair("float32", "f32"), std::pair("F64", "f64"),
                                     std::pair("uint8", "u8"), std::pair("bfloat16", "bf16")}) {
    ExpectFailure(absl::StrCat("describe ", raw, " --dtype ", given), 2,
                  absl::StrCat("f8_e5m2; did you mean ", meant, "?\n"));
  }
  ExpectFailure("describe " + raw + " --dtype complex64", 2, "f8_e5m2\n");
  const auto gz = WriteFile("c.npy.gz", "\x1f\x8b\x08");
  ExpectFailure(
      "describe " + gz, 2,
      "c.npy.gz: is compressed by gzip; a pipe reads it: zcat " + gz + " | warpfold describe -\n");
  ExpectFailure("bench --duration -1", 2, "--duration: -1 is negative\n");
  ExpectFailure("bench --chunk-size 0", 2, "--chunk-size: 0 is not positive\n");
  ExpectFailure("watch --count x", 2, "--count: 'x' is no number\n");
}

TEST_F(CliTest, HelpIsACommandToo) {
  EXPECT_EQ(Run("help describe").out, Run("describe --help").out);
  EXPECT_THAT(Run("help describe").out, HasSubstr("--fail-on"));
  EXPECT_EQ(Run("help").out, Run("--help").out);
  EXPECT_EQ(Run("help").exit_code, 0);
  for (const std::string command :
       {"reduce", "describe", "diff", "watch", "bench", "info", "health"}) {
    const std::string help = Run("help " + command).out;
    const std::size_t at = help.find("Examples:\n");
    ASSERT_NE(at, std::string::npos) << command;
    std::istringstream examples(help.substr(at + std::string("Examples:\n").size()));
    int count = 0;
    for (std::string line; std::getline(examples, line) && !line.empty(); ++count) {
      EXPECT_THAT(line, HasSubstr(" " + command + " ")) << command;
    }
    EXPECT_GE(count, 1) << command;
    EXPECT_EQ(help.find("Of several files") != std::string::npos,
              command == "reduce" || command == "describe")
        << command;
  }
}

// Every version of CLI11 has a text of its own.
TEST_F(CliTest, HelpIsThisText) {
  const std::string notes =
      "Exit status:\n"
      "0 done; 1 done, and --fail-on or diff found something; 2 wrong input, usage or token;\n"
      "3 the server or the network failed (health: 1), or stdout could not be written.\n"
      "\n"
      "JSON:\n"
      "Numbers have the digits that identify them; NaN and the infinities are the strings "
      "\"NaN\",\n"
      "\"Infinity\" and \"-Infinity\"; what does not exist is null.\n";
  EXPECT_EQ(
      Run("diff --help").out,
      "Compare two files tensor by tensor; exit with 1 when they differ\n"
      "Usage: warpfold diff [OPTIONS] A B\n"
      "\n"
      "Positionals:\n"
      "  A PATH REQUIRED             A file, or - for stdin\n"
      "  B PATH REQUIRED             The other file, or - for stdin\n"
      "\n"
      "Options:\n"
      "  -h,--help                   Print this help message and exit\n"
      "  --dtype TEXT                The element type of raw bytes (C order, little-endian): f32, "
      "i64, bf16, ...; or of a .npy or .npz file of a dtype that NumPy does not have: bf16, "
      "f8_e4m3, f8_e5m2\n"
      "  --shape INT ...             The shape of raw bytes: 3,4; default one axis of all\n"
      "  --tolerance FLOAT:NONNEGATIVE\n"
      "                              Exit with 0 when no element differs by more than this; "
      "default: by a bit\n"
      "  --jobs INT:INT in [1 - 64]=4\n"
      "                              Tensors in flight at a time, each on its own connection\n"
      "\n"
      "Examples:\n"
      "  warpfold diff old.safetensors new.safetensors\n"
      "\n" +
          notes);
  EXPECT_EQ(Run("help --help").out,
            "Print the help of a command, or this\n"
            "Usage: warpfold help [OPTIONS] [COMMAND]\n"
            "\n"
            "Positionals:\n"
            "  COMMAND TEXT:{reduce,describe,diff,watch,bench,info,health,help}\n"
            "                              One of the commands above\n"
            "\n"
            "Options:\n"
            "  -h,--help                   Print this help message and exit\n");
  const std::string help = Run("--help").out;
  EXPECT_TRUE(
      help.starts_with("Reductions of tensors on GPUs, from the command line\n"
                       "Usage: warpfold [OPTIONS] SUBCOMMAND\n\nOptions:\n"))
      << help;
  EXPECT_THAT(help, HasSubstr("\n  --target,--server TEXT=localhost:50051 (Env:WARPFOLD_TARGET)\n"
                              "                              The server, as host, host:port"));
  EXPECT_THAT(help, HasSubstr("\n\nSubcommands:\n  reduce                      Reduce one tensor "
                              "of each file\n"));
  EXPECT_THAT(Run("help reduce").out, HasSubstr("\nUsage: warpfold reduce [OPTIONS] FILE...\n\n"));
}

TEST_F(CliTest, AnEmptyValueIsRefusedByItsFlag) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 2}, {1, 2, 3, 4});
  const std::string sum = "reduce " + file + " --op sum ";
  for (const char* flag : {"--axis", "--shape", "--dtype", "--tensor", "--output", "--tls-ca"}) {
    ExpectFailure(sum + flag + " ''", 2, std::string(flag) + ": is empty");
    // Nothing that follows becomes its value.
    ExpectFailure(sum + flag + "= --keepdims", 2, std::string(flag) + ": is empty");
  }
  ExpectFailure("reduce " + file + " --op= --axis 0", 2, "--op: is empty");
  ExpectFailure("reduce '' --op sum", 2, "FILE: is empty");
  for (const char* list : {",", "0,", ",0", "0,,1"}) {
    ExpectFailure(sum + "--axis " + list, 2, "--axis: an item is empty");
  }
  ExpectFailure("reduce " + file + " --op sum,,max", 2, "--op: an item is empty");
  ExpectFailure("describe " + file + " --fail-on nan,,inf", 2, "--fail-on: an item is empty");
  ExpectFailure("describe " + file + " --fail-on nan,x", 2, "--fail-on: x not in {nan,inf");
}

TEST_F(CliTest, ListsAreJoinedHoweverTheyAreGiven) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 2}, {1, 2, 3, 4});
  for (const char* axes : {"--axis 0,1", "--axis=-1,0", "--axis 0 --axis=1"}) {
    EXPECT_EQ(Run("reduce " + file + " --op sum " + axes).out, "10.0\n") << axes;
  }
  EXPECT_EQ(Run("reduce --op sum,max " + file).out, "sum: 10.0\nmax: 4.0\n");
}

TEST_F(CliTest, AListFlagLeavesTheFileThatFollows) {
  const auto file = WriteArray<float>("a.npy", v1::DTYPE_F32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Run("reduce --op mean " + file + " --omit-nan").out, "2.5\n");
  EXPECT_EQ(Run("reduce --op sum --axis 0 " + file).out, "[4. 6.]\n");
  EXPECT_EQ(Run("describe --fail-on nan " + file).exit_code, 0);
  ExpectFailure("bench --op sum mean", 2, "mean");
}

}  // namespace
}  // namespace warpfold::client
