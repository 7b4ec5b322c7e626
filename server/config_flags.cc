#include "server/config_flags.h"

#include <algorithm>
#include <cstdlib>
#include <istream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/config_options.h"
#include "server/option_text.h"
#include "server/system/regular_file.h"

namespace warpfold {
namespace {

constexpr char kConfigFlag[] = "--config";
constexpr char kList[] = "listen-address";  // the one option that may be several
constexpr absl::string_view kQuotes = "\"'`";

// Takes an array for the text that a flag has: `listen-address = ["A", "B"]` for "A, B".
class ConfigFile final : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> items = CLI::ConfigTOML::from_config(input);
    for (CLI::ConfigItem& item : items) {
      if (item.fullname() != kList) continue;
      std::erase(item.inputs, "");  // what CLI11 2.1 sees in a blank before a comma
      item.inputs = {absl::StrJoin(item.inputs, ", ")};
    }
    return items;
  }
};

void AddFlag(CLI::App& app, const ConfigOption& option, const std::string& section,
             Config& config) {
  std::visit(
      [&](auto field) {
        auto& value = config.*field;
        std::string help = option.meaning;
        if (*option.unit != '\0') absl::StrAppend(&help, " (", option.unit, ")");
        CLI::Option* flag = app.add_option(absl::StrCat("--", option.name), value, help)
                                ->group(section)
                                ->envname(EnvironmentName(option.name))
                                ->default_str(ValueText(option, config));
        if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
          flag->transform(
              CLI::Validator([&option](std::string& text) { return ReadText(option, text); },
                             ChoiceNames(option)));
        }
      },
      option.field);
}

// An empty value, of a script's unset variable, must not pass for a flag that was left out: there
// would be no TLS, or no time to drain.
bool MayBeEmpty(const std::string& flag) {
  for (const char* const name : {"--metrics-address", "--port-file", "--shared-memory-prefix"}) {
    if (flag == name) return true;
  }
  return !absl::StartsWith(flag, "--");
}

// The file that is read; empty: none.
std::string FileOf(CLI::App& app) { return app.get_config_ptr()->as<std::string>(); }

// What --config, or WARPFOLD_CONFIG, will be; empty: none. `arguments` are the last one first.
std::string FileIn(const std::vector<std::string>& arguments) {
  const std::string joined = absl::StrCat(kConfigFlag, "=");
  for (std::size_t i = arguments.size(); i-- > 0;) {
    if (absl::StartsWith(arguments[i], joined)) return arguments[i].substr(joined.size());
    if (arguments[i] == kConfigFlag && i > 0) return arguments[i - 1];
  }
  const char* const variable = std::getenv("WARPFOLD_CONFIG");
  return variable != nullptr ? variable : "";
}

bool IsQuote(char c) { return absl::StrContains(kQuotes, c); }

absl::string_view KeyOf(absl::string_view line) {
  const absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, line.find('=')));
  const bool is_quoted = key.size() > 1 && IsQuote(key.front()) && key.back() == key.front();
  return is_quoted ? key.substr(1, key.size() - 2) : key;
}

// Without its comment.
absl::string_view Uncommented(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
  return absl::StartsWith(line, ";") ? "" : line;
}

std::string ArrayProblem(absl::string_view array) {
  // CLI11 reads on, line by line.
  if (array.back() != ']') return absl::StrCat(array, " needs quotes; an array ends on its line");
  const auto first = array.find_first_of(kQuotes);
  const bool has_others = std::any_of(array.begin(), array.end(),
                                      [&](char c) { return IsQuote(c) && c != array[first]; });
  return has_others ? absl::StrCat(array, " has quotes of two kinds; one array has one") : "";
}

std::string ValueProblem(absl::string_view value, bool is_list, bool has_comment) {
  if (value.front() == '[') return ArrayProblem(value);
  if (IsQuote(value.front())) {
    const auto end = value.find(value.front(), 1);
    if (end == absl::string_view::npos) {
      return absl::StrCat(value, " has no closing quote",
                          has_comment ? "; # begins a comment, in quotes too" : "");
    }
    return end + 1 == value.size() ? "" : absl::StrCat(value, " goes on behind its closing quote");
  }
  const bool needs_quotes =
      value.find_first_of(is_list ? "\"'`, \t" : kQuotes) != absl::string_view::npos;
  return needs_quotes ? absl::StrCat(value, " needs quotes") : "";
}

// What is wrong with a line that CLI11 takes for something else in silence; empty: nothing.
// `text` is the line without its comment.
std::string LineProblem(absl::string_view text, bool has_comment) {
  if (text.empty()) return "";
  if (text.front() == '[') return absl::StrCat("there are no sections, and ", text, " is one");
  const std::size_t equals = text.find('=');
  if (equals == absl::string_view::npos) {
    return absl::StrCat(text, " has no value: a line is `name = value`");
  }
  const absl::string_view value = absl::StripAsciiWhitespace(text.substr(equals + 1));
  return value.empty() ? "" : ValueProblem(value, KeyOf(text) == kList, has_comment);
}

// CLI11 would wait for the writer of a pipe.
absl::Status CheckFile(const std::string& file) {
  if (file.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadRegularFile(file);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("config: ", text.status().message()));
  }
  int number = 0;
  std::set<absl::string_view> keys;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    const absl::string_view written = Uncommented(line);
    std::string problem = LineProblem(written, /*has_comment=*/absl::StrContains(line, '#'));
    const absl::string_view key = KeyOf(written);
    // CLI11 sees it only where the two stand next to each other.
    const bool is_twice = !key.empty() && !keys.insert(key).second;
    if (problem.empty() && is_twice) problem = absl::StrCat(key, " is there twice");
    if (!problem.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ", line ", number, ": ", problem));
    }
  }
  return absl::OkStatus();
}

std::vector<CLI::ConfigItem> ItemsOf(CLI::App& app) {
  const std::string file = FileOf(app);
  return file.empty() ? std::vector<CLI::ConfigItem>()
                      : app.get_config_formatter()->from_file(file);
}

// Where the value of an option comes from, " (in FILE)" or " (in VARIABLE)"; empty: the flags, or
// the defaults.
std::string Origin(CLI::App& app, const std::string& name,
                   const std::vector<std::string>& arguments) {
  const std::string flag = absl::StrCat("--", name);
  for (const std::string& argument : arguments) {
    if (argument == flag || absl::StartsWith(argument, absl::StrCat(flag, "="))) return "";
  }
  for (const CLI::ConfigItem& item : ItemsOf(app)) {
    if (item.fullname() == name) return absl::StrCat(" (in ", FileOf(app), ")");
  }
  const std::string variable = EnvironmentName(name.c_str());
  const char* const value = std::getenv(variable.c_str());
  const bool is_given = value != nullptr && *value != '\0';
  return is_given ? absl::StrCat(" (in ", variable, ")") : "";
}

absl::Status RefusedOption(CLI::App& app, const BadOption& bad,
                           const std::vector<std::string>& arguments) {
  return absl::InvalidArgumentError(
      absl::StrCat(bad.name, ": ", bad.why, Origin(app, bad.name, arguments)));
}

absl::Status UnknownKey(CLI::App& app) {
  const auto options = ConfigOptions();
  for (const CLI::ConfigItem& item : ItemsOf(app)) {
    const bool is_known = std::any_of(options.begin(), options.end(), [&](const auto& option) {
      return item.fullname() == option.name;
    });
    if (is_known) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(FileOf(app), ": '", item.fullname(),
                     "' is no option: a line is `name = value`, docs/configuration.md has the "
                     "names"));
  }
  return absl::InvalidArgumentError(absl::StrCat(FileOf(app), ": is no TOML or INI"));
}

// CLI11's words, which name neither the file nor the variable, in ours.
absl::Status ToStatus(CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments) {
  const std::string words = error.what();
  if (dynamic_cast<const CLI::ConfigError*>(&error) != nullptr) return UnknownKey(app);
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("config: ", words));
  }
  // "--workers-per-device: 'abc' is no whole number"
  const std::size_t colon = words.find(": ");
  if (!absl::StartsWith(words, "--") || colon == std::string::npos) {
    return absl::InvalidArgumentError(words);
  }
  const std::string name = words.substr(2, colon - 2);
  std::string problem = words.substr(colon + 2);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const bool is_many = absl::StartsWith(absl::AsciiStrToLower(problem), "at most");
    problem = is_many ? "is given more than once" : "needs a value";
  }
  return RefusedOption(app, {name, problem}, arguments);
}

// CLI11 2.1 refuses a variable's value that it cannot read; later ones pass it over in silence.
absl::Status CheckEnvironment(const CLI::App& app) {
  for (const ConfigOption& option : ConfigOptions()) {
    const std::string variable = EnvironmentName(option.name);
    const char* const value = std::getenv(variable.c_str());
    const bool is_given = app.get_option(absl::StrCat("--", option.name))->count() > 0;
    if (value == nullptr || *value == '\0' || is_given) continue;
    std::string text = value;
    if (const std::string problem = ReadText(option, text); !problem.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(option.name, ": ", problem, " (in ", variable, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddFlags(CLI::App& app, Config& config) {
  std::string section;
  for (const ConfigOption& option : ConfigOptions()) {
    if (const char* const begun = SectionBegunBy(option); begun != nullptr) section = begun;
    AddFlag(app, option, section, config);
  }
  // Not by envname: CLI11 reads the file before it looks at the environment.
  const char* const file = std::getenv("WARPFOLD_CONFIG");
  const bool has_file = file != nullptr && *file != '\0';
  app.set_config(kConfigFlag, has_file ? file : "",
                 "TOML or INI file with any of these options, without dashes (Env:WARPFOLD_CONFIG)",
                 /*config_required=*/has_file);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.config_formatter(std::make_shared<ConfigFile>());
}

absl::Status ParseFlags(CLI::App& app, int argc, const char* const* argv, const Config& config) {
  std::vector<std::string> arguments;  // the last one first, as CLI11 takes them
  for (int i = argc - 1; i > 0; --i) {
    const std::string argument = argv[i];
    // CLI11 takes what follows "--option=" for its value: as two arguments it is the empty one.
    const bool is_empty = argument.size() > 3 && absl::StartsWith(argument, "--") &&
                          argument.find('=') == argument.size() - 1;
    if (is_empty) arguments.emplace_back();
    arguments.push_back(is_empty ? argument.substr(0, argument.size() - 1) : argument);
    if (arguments.size() > 1 && arguments[arguments.size() - 2].empty() &&
        !MayBeEmpty(arguments.back())) {
      return absl::InvalidArgumentError(
          absl::StrCat(absl::StripPrefix(arguments.back(), "--"), ": is empty"));
    }
  }
  if (absl::Status status = CheckFile(FileIn(arguments)); !status.ok()) return status;
  try {
    std::vector<std::string> parsed = arguments;
    app.parse(std::move(parsed));
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    return ToStatus(app, error, arguments);
  }
  if (absl::Status status = CheckEnvironment(app); !status.ok()) return status;
  const std::optional<BadOption> bad = config.FindBad();
  return bad.has_value() ? RefusedOption(app, *bad, arguments) : absl::OkStatus();
}

absl::StatusOr<Config> ReadConfig(int argc, const char* const* argv) {
  CLI::App app;
  Config config;
  AddFlags(app, config);
  if (absl::Status status = ParseFlags(app, argc, argv, config); !status.ok()) return status;
  return config;
}

}  // namespace warpfold
