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

std::string UnknownCommandText(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = CommandNames(app);
  const std::optional<std::string> meant = Nearest(word, names);
  return absl::StrCat("no command '", word, "'; ",
                      meant.has_value()
                          ? absl::StrCat("did you mean ", *meant, "?")
                          : absl::StrCat("the commands are ", absl::StrJoin(names, ", ")));
}

std::string UnknownCommand(const CLI::App& app) {
  if (!app.get_subcommands().empty()) return "";
  const std::vector<std::string> rest = app.remaining();
  const auto word = std::find_if(rest.begin(), rest.end(),
                                 [](const std::string& text) { return !text.starts_with('-'); });
  return word == rest.end() ? "" : *word;
}

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

std::string TargetGivenBy(int argc, const char* const* argv) {
  std::string given = kTargetVariable;
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    const std::string name(argument.substr(0, argument.find('=')));
    if (name == "--server" || name == "--target") given = name;
  }
  return given;
}

}  // namespace warpfold::client
