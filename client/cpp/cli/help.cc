#include "client/cpp/cli/help.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kNameColumns = 30;  // what is said of a name begins behind them

bool IsRepeated(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

// "  --jobs INT=4             Tensors in flight at a time\n"; below the name when that is longer.
std::string HelpLine(const std::string& name, const std::string& meaning) {
  std::string line = absl::StrCat("  ", name);
  if (line.size() < kNameColumns) {
    line.resize(kNameColumns, ' ');
  } else {
    absl::StrAppend(&line, "\n", std::string(kNameColumns, ' '));
  }
  return absl::StrCat(line, meaning, "\n");
}

std::string OptionLine(const CLI::Option& option) {
  std::string name = option.get_name(option.get_positional(), /*all_options=*/true);
  if (option.get_items_expected_max() > 0) {
    absl::StrAppend(&name, " ", option.get_type_name());
    const std::string value = option.get_default_str();
    if (!value.empty()) absl::StrAppend(&name, "=", value);
    if (IsRepeated(option)) name += " ...";
    if (option.get_required()) name += " REQUIRED";
  }
  const std::string variable = option.get_envname();
  if (!variable.empty()) absl::StrAppend(&name, " (Env:", variable, ")");
  return HelpLine(name, option.get_description());
}

// " FILE..." of an argument, " [COMMAND]" of one that may be left out.
std::string ArgumentUsage(const CLI::Option& argument) {
  const std::string name =
      absl::StrCat(argument.get_name(/*positional=*/true), IsRepeated(argument) ? "..." : "");
  return absl::StrCat(" ", argument.get_required() ? name : absl::StrCat("[", name, "]"));
}

// Nothing when there are no lines.
std::string Section(const std::string& title, const std::string& lines) {
  return lines.empty() ? "" : absl::StrCat("\n", title, ":\n", lines);
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
  std::string usage;
  std::string arguments;
  std::string options;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional()) {
      usage += ArgumentUsage(*option);
      arguments += OptionLine(*option);
    } else {
      options += OptionLine(*option);
    }
  }
  std::string commands;
  const auto shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app->get_subcommands(shown)) {
    commands += HelpLine(command->get_name(), command->get_description());
  }
  std::string footer = app->get_footer();
  if (!footer.empty()) footer = absl::StrCat("\n", footer, "\n");
  return absl::StrCat(app->get_description(), "\nUsage: ", name, " [OPTIONS]", usage,
                      commands.empty() ? "" : " SUBCOMMAND", "\n",
                      Section("Positionals", arguments), Section("Options", options),
                      Section("Subcommands", commands), footer);
}

}  // namespace warpfold::client
