// What `warpfold` writes about its own command line: completions and the man page, held against the
// help.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/client/cli_fixture.h"

namespace warpfold::client {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class CompletionCliTest : public CliTest {
 protected:
  // The first words of the lines below `title` in a help text, up to the next empty line.
  static std::vector<std::string> Entries(const std::string& help, const std::string& title) {
    std::vector<std::string> entries;
    std::istringstream lines(help.substr(std::min(help.find(title), help.size())));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line) && !line.empty()) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      if (line.starts_with("  ") && line[2] != ' ') entries.push_back(word);
    }
    return entries;
  }

  std::vector<std::string> Commands() const { return Entries(Run("--help").out, "Subcommands:"); }

  // Of "-h,--help" both.
  static std::vector<std::string> Names(const std::string& entry) {
    std::vector<std::string> names;
    std::stringstream rest(entry);
    for (std::string name; std::getline(rest, name, ',');) names.push_back(name);
    return names;
  }

  // "--op", of a command; of no command those of all.
  std::set<std::string> LongFlags(const std::string& command) const {
    std::set<std::string> flags;
    for (const std::string& entry : Entries(Run(command + " --help").out, "Options:")) {
      for (const std::string& name : Names(entry)) {
        if (name.starts_with("--")) flags.insert(name);
      }
    }
    return flags;
  }

  // What bash offers for the last of `words`.
  std::string Bash(const std::string& words) const {
    const std::string file = WriteFile("completion", Run("completion bash").out);
    return RunShell("cd '" + folder_.path() + "' && bash -euc 'source \"" + file +
                    "\"; COMP_WORDS=(" + words +
                    "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _warpfold; echo "
                    "\"${COMPREPLY[*]}\"'")
        .out;
  }

  // Hyphens as roff writes them.
  static std::string Escaped(const std::string& name) {
    std::string out;
    for (const char c : name) out += c == '-' ? std::string("\\-") : std::string(1, c);
    return out;
  }

  bool Installed(const std::string& program) const {
    return RunShell("command -v " + program).exit_code == 0;
  }
};

TEST_F(CompletionCliTest, EveryCommandAndFlagOfTheHelpIsNamed) {
  const std::string bash = Run("completion bash").out;
  const std::string zsh = Run("completion zsh").out;
  const std::string fish = Run("completion fish").out;
  const std::string man = Run("man").out;
  const std::vector<std::string> commands = Commands();
  EXPECT_THAT(commands, Contains("describe"));
  std::size_t checked = 0;
  for (const std::string& command : commands) {
    EXPECT_THAT(zsh, HasSubstr("    '" + command + ":"));
    EXPECT_THAT(fish, HasSubstr("__fish_use_subcommand -a " + command + " -d"));
    EXPECT_THAT(man, HasSubstr("\n.SS " + command));
    EXPECT_THAT(bash, HasSubstr(command));
    std::set<std::string> flags = LongFlags("");
    EXPECT_THAT(flags, Contains("--server"));
    flags.merge(LongFlags(command));
    std::string bash_line = bash.substr(bash.find("    " + command + ":-*)"));
    bash_line.resize(bash_line.find('\n'));
    for (const std::string& flag : flags) {
      EXPECT_THAT(bash_line + " ", testing::ContainsRegex("[ ']" + flag + "[ ']")) << command;
      EXPECT_THAT(zsh, HasSubstr("'" + flag + "["));
      EXPECT_THAT(fish, HasSubstr(" -l " + flag.substr(2) + " "));
      EXPECT_THAT(man, HasSubstr("\\fB\\-\\-" + Escaped(flag.substr(2)) + "\\fR"));
      ++checked;
    }
  }
  EXPECT_GT(checked, 30u);
}

TEST_F(CompletionCliTest, BashParsesItAndCompletes) {
  const std::string file = WriteFile("completion", Run("completion bash").out);
  const Outcome parsed = RunShell("bash -n '" + file + "'");
  EXPECT_EQ(parsed.exit_code, 0) << parsed.err;
  WriteFile("data.npy", "");
  WriteFile("data set.npz", "");
  EXPECT_EQ(Bash("warpfold des"), "describe\n");
  EXPECT_EQ(Bash("warpfold --server here:1 di"), "diff\n");
  EXPECT_EQ(Bash("warpfold describe --fa"), "--fail-on\n");
  EXPECT_EQ(Bash("warpfold describe --fail-on z"), "zero\n");
  EXPECT_EQ(Bash("warpfold --color \"\""), "auto always never\n");
  EXPECT_EQ(Bash("warpfold info --js"), "--json\n");
  EXPECT_EQ(Bash("warpfold reduce data."), "data.npy\n");
  EXPECT_EQ(Bash("warpfold reduce \"data s\""), "data set.npz\n");
  EXPECT_EQ(Bash("warpfold describe a.npy data."), "data.npy\n");
  EXPECT_EQ(Bash("warpfold reduce --output data."), "data.npy\n");
  EXPECT_EQ(Bash("warpfold reduce --op d"), "\n");
  EXPECT_EQ(Bash("warpfold info d"), "\n");
}

TEST_F(CompletionCliTest, ZshParsesIt) {
  if (!Installed("zsh")) GTEST_SKIP() << "there is no zsh here";
  const std::string file = WriteFile("_warpfold", Run("completion zsh").out);
  const Outcome parsed = RunShell("zsh -n '" + file + "'");
  EXPECT_EQ(parsed.exit_code, 0) << parsed.err;
}

TEST_F(CompletionCliTest, FishCompletes) {
  if (!Installed("fish")) GTEST_SKIP() << "there is no fish here";
  const std::string file = WriteFile("warpfold.fish", Run("completion fish").out);
  const auto fish = [&](const std::string& line) {
    return RunShell("HOME='" + folder_.path() + "' fish -c 'source \"" + file +
                    "\"; complete -C \"" + line + "\"'")
        .out;
  };
  EXPECT_THAT(fish("warpfold des"), HasSubstr("describe\t"));
  EXPECT_THAT(fish("warpfold describe --fail-on z"), HasSubstr("zero\t"));
  EXPECT_THAT(fish("warpfold diff --jo"), HasSubstr("--jobs\t"));
}

TEST_F(CompletionCliTest, TheManPageIsCleanRoff) {
  const std::string file = WriteFile("warpfold.1", Run("man").out);
  ASSERT_TRUE(Installed("mandoc")) << "run deploy/setup.sh deploy/packages.txt";
  // A date would make the page another one each day.
  const Outcome lint =
      RunShell("mandoc -T lint -W warning '" + file + "' | grep -v 'missing date'");
  EXPECT_EQ(lint.out, "");
  const std::string text = RunShell("mandoc -T ascii '" + file + "' | sed 's/.\x08//g'").out;
  EXPECT_THAT(text, HasSubstr("warpfold - Reductions of tensors on GPUs"));
  EXPECT_THAT(text, HasSubstr("--fail-on nan|inf|zero|constant"));
  EXPECT_THAT(text, HasSubstr("describe FILE...\n"));
  EXPECT_THAT(text, HasSubstr("diff A B\n"));
  EXPECT_THAT(text, HasSubstr("warpfold diff old.safetensors new.safetensors"));
  EXPECT_THAT(text, HasSubstr("WARPFOLD_TARGET"));
}

TEST_F(CompletionCliTest, TheGeneratorsAreNotInTheHelp) {
  EXPECT_THAT(Commands(), Not(Contains("completion")));
  EXPECT_THAT(Commands(), Not(Contains("man")));
  ExpectFailure("completion tcsh", 2, "SHELL: tcsh not in {bash,zsh,fish}");
}

}  // namespace
}  // namespace warpfold::client
