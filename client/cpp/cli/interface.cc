#include "client/cpp/cli/interface.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cpp/cli/app.h"

namespace warpfold::client {
namespace {

// "TEXT:{a,b}" is how CLI11 describes a value that IsMember checks.
std::vector<std::string> Choices(const std::string& type_name) {
  const std::size_t open = type_name.find('{');
  const std::size_t close = type_name.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return absl::StrSplit(type_name.substr(open + 1, close - open - 1), ',');
}

Flag FlagOf(const CLI::Option& option) {
  Flag flag;
  if (option.get_positional()) {
    const bool repeats = option.get_items_expected_max() > 1;
    flag.names.push_back(absl::StrCat(option.get_name(true), repeats ? "..." : ""));
  } else {
    for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  }
  flag.help = option.get_description();
  flag.takes_value = option.get_items_expected_max() > 0;
  flag.takes_path = option.get_type_name().starts_with(kPathType);
  flag.choices = Choices(option.get_type_name());
  flag.default_text = option.get_default_str();
  flag.environment = option.get_envname();
  return flag;
}

Command CommandOf(const CLI::App& app) {
  Command command{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? command.arguments : command.flags).push_back(FlagOf(*option));
  }
  return command;
}

}  // namespace

Interface InterfaceOf(const CLI::App& app) {
  Command whole = CommandOf(app);
  Interface interface {
    whole.name, whole.help, app.version(), std::move(whole.flags), {}
  };
  const auto shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(shown)) {
    interface.commands.push_back(CommandOf(*command));
    // Said once, with the flags of all commands.
    std::erase_if(interface.commands.back().flags,
                  [](const Flag& flag) { return flag.names.back() == "--help"; });
  }
  return interface;
}

}  // namespace warpfold::client
