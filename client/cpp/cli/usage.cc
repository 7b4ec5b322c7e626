#include "client/cpp/cli/usage.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/cli/app.h"
#include "client/cpp/cli/nearest.h"

namespace warpfold::client {
namespace {

// The first word, when it is no command; empty when there is no word at all.
std::string UnknownCommand(const CLI::App& app) {
  if (!app.get_subcommands().empty()) return "";
  const std::vector<std::string> rest = app.remaining();
  const auto word = std::find_if(rest.begin(), rest.end(),
                                 [](const std::string& text) { return !text.starts_with('-'); });
  return word == rest.end() ? "" : *word;
}

// Whether an option was given that is none.
bool HasUnknownOption(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  return std::any_of(rest.begin(), rest.end(),
                     [](const std::string& text) { return text.starts_with('-'); });
}

// The first option that is none, or else what was not expected, in the order given.
std::string UnexpectedText(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const std::string command = commands.empty() ? "" : commands[0]->get_name();
  const auto found = std::find_if(rest.begin(), rest.end(),
                                  [](const std::string& text) { return text.starts_with('-'); });
  if (found == rest.end()) return absl::StrCat("not expected: ", absl::StrJoin(rest, " "));
  const std::string word = found->substr(0, found->find('='));
  std::vector<std::string> names;
  for (const CLI::App* of : {&app, commands.empty() ? &app : commands[0]}) {
    for (const CLI::Option* option : of->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back(name);
    }
  }
  const std::optional<std::string> meant =
      Nearest(word.substr(std::min(word.find_first_not_of('-'), word.size())), names);
  return absl::StrCat("no option '", word, "'; ",
                      meant.has_value() ? absl::StrCat("did you mean --", *meant, "?")
                                        : absl::StrCat("warpfold help", command.empty() ? "" : " ",
                                                       command, " lists the options"));
}

// Who gave the target: "--server", "--target" or, when neither is among main's arguments,
// "WARPFOLD_TARGET".
std::string TargetGivenBy(int argc, const char* const* argv) {
  std::string given = kTargetVariable;
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    const std::string name(argument.substr(0, argument.find('=')));
    if (name == "--server" || name == "--target") given = name;
  }
  return given;
}

// CLI11's words, in the style of the other messages: the option first, then what is wrong.
std::string ProblemText(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  if (error.get_name() == "RequiredError") {
    if (name == "FILE") return absl::StrCat(text, "; - is stdin");
    if (!app.get_subcommands().empty()) return text;
    return absl::StrCat("a command is required, one of ", absl::StrJoin(CommandNames(app), ", "),
                        "; warpfold help says more");
  }
  if (error.get_name() == "ArgumentMismatch") {
    return absl::StrCat(
        name, text.ends_with("missing") ? ": needs a value" : ": takes one value, and has several");
  }
  const std::string conversion = "Could not convert: ";  // "--tls = maybe"
  if (text.starts_with(conversion)) {
    const std::size_t equals = text.find(" = ");
    return absl::StrCat(text.substr(conversion.size(), equals - conversion.size()),
                        ": does not take '", text.substr(std::min(equals + 3, text.size())), "'");
  }
  return text;
}

}  // namespace

std::string UnknownCommandText(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = CommandNames(app);
  const std::optional<std::string> meant = Nearest(word, names);
  return absl::StrCat("no command '", word, "'; ",
                      meant.has_value()
                          ? absl::StrCat("did you mean ", *meant, "?")
                          : absl::StrCat("the commands are ", absl::StrJoin(names, ", ")));
}

std::string UsageText(const CLI::App& app, const CLI::ParseError& error, int argc,
                      const char* const* argv) {
  const std::string word = UnknownCommand(app);
  if (!word.empty()) return UnknownCommandText(app, word);
  const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (is_extra || HasUnknownOption(app)) return UnexpectedText(app);
  std::string text = ProblemText(app, error);
  const std::string target = "--target";  // CLI11 calls an option by the first of its names
  if (!text.starts_with(target + ":")) return text;
  return absl::StrCat(TargetGivenBy(argc, argv), text.substr(target.size()));
}

}  // namespace warpfold::client
