#include "server/option_text.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/base/whole_number.h"

namespace warpfold {
namespace {

template <typename Enum>
using Choices = std::map<std::string, Enum>;

// The names of an option's choices.
const Choices<Backend>& ChoicesOf(Backend Config::*) {
  static const auto& choices = *new Choices<Backend>{
      {"auto", Backend::kAuto}, {"cuda", Backend::kCuda}, {"cpu", Backend::kCpu}};
  return choices;
}

const Choices<LogLevel>& ChoicesOf(LogLevel Config::*) {
  static const auto& choices = *new Choices<LogLevel>{{"debug", LogLevel::kDebug},
                                                      {"info", LogLevel::kInfo},
                                                      {"warning", LogLevel::kWarning},
                                                      {"error", LogLevel::kError}};
  return choices;
}

const Choices<LogFormat>& ChoicesOf(LogFormat Config::*) {
  static const auto& choices =
      *new Choices<LogFormat>{{"text", LogFormat::kText}, {"json", LogFormat::kJson}};
  return choices;
}

const Choices<Compression>& ChoicesOf(Compression Config::*) {
  static const auto& choices =
      *new Choices<Compression>{{"refused", Compression::kRefused}, {"taken", Compression::kTaken}};
  return choices;
}

const Choices<Switch>& ChoicesOf(Switch Config::*) {
  static const auto& choices = *new Choices<Switch>{{"off", Switch::kOff}, {"on", Switch::kOn}};
  return choices;
}

// Calls `visit` with the option's pointer to member, in its own type.
template <typename Visit>
auto VisitField(const ConfigOption& option, const Visit& visit) {
  return std::visit(visit, option.field);
}

template <typename Field>
using ValueOf = std::decay_t<decltype(std::declval<Config>().*std::declval<Field>())>;

bool InBytes(const ConfigOption& option) { return std::string_view(option.unit) == "bytes"; }

bool IsNumber(const ConfigOption& option) {
  return VisitField(option,
                    [](auto field) { return std::is_integral_v<ValueOf<decltype(field)>>; });
}

std::string BytesText(std::int64_t value) {
  static constexpr std::pair<int, const char*> kUnits[] = {
      {40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (const auto& [shift, unit] : kUnits) {
    if (value != 0 && value % (std::int64_t{1} << shift) == 0) {
      return absl::StrCat(value >> shift, unit);
    }
  }
  return absl::StrCat(value);
}

std::string NumberText(const ConfigOption& option, std::int64_t value) {
  return InBytes(option) ? BytesText(value) : absl::StrCat(value);
}

std::string RangeText(const ConfigOption& option) {
  if (!IsNumber(option)) return ChoiceNames(option);
  return absl::StrCat(NumberText(option, option.low), " to ", NumberText(option, option.high));
}

// '|' ends a cell of a Markdown table.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

// In quotes of a kind that it does not have: there is no way to write those.
std::string Quoted(const std::string& value) {
  for (const char* const quote : {"\"", "'", "`"}) {
    if (!absl::StrContains(value, quote)) return absl::StrCat(quote, value, quote);
  }
  return absl::StrCat("\"", value, "\"");
}

// "4MiB", "4 MB" and "4m" to "4194304", all powers of 1024; empty: no size. CLI11 2.1.2 would take
// a number that begins with 0 for an octal one, and a unit alone for one of it.
std::string SizeToNumber(const std::string& text) {
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) return "";
  std::size_t zeros = 0;
  while (zeros + 1 < text.size() && text[zeros] == '0' &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[zeros + 1]))) {
    ++zeros;
  }
  std::string number = text.substr(zeros);
  try {
    return CLI::AsSizeValue(/*kb_is_1000=*/false)(number).empty() ? number : "";
  } catch (const CLI::Error&) {  // how it says that it does not know the unit
    return "";
  }
}

std::string ReadNumber(const ConfigOption& option, std::string& text) {
  const std::optional<std::int64_t> value =
      InBytes(option) ? ReadSize(text) : ReadWholeNumber(text);
  if (!value.has_value()) {
    return absl::StrCat("'", text, "' is no ",
                        InBytes(option) ? "size: a whole number of bytes, or of KiB, MiB, GiB, TiB"
                                        : "whole number");
  }
  text = absl::StrCat(*value);
  return RangeProblem(option, *value);
}

template <typename Enum>
std::string ReadChoice(const Choices<Enum>& choices, const std::string& names, std::string& text) {
  const auto found = choices.find(absl::AsciiStrToLower(text));
  if (found == choices.end()) return absl::StrCat("'", text, "' is none of ", names);
  text = absl::StrCat(static_cast<int>(found->second));  // CLI11 converts enums from numbers
  return "";
}

}  // namespace

std::optional<std::int64_t> ReadSize(const std::string& text) {
  return ReadWholeNumber(SizeToNumber(text));
}

std::string ReadText(const ConfigOption& option, std::string& text) {
  return VisitField(option, [&](auto field) -> std::string {
    using Value = ValueOf<decltype(field)>;
    if constexpr (std::is_enum_v<Value>) {
      return ReadChoice(ChoicesOf(field), ChoiceNames(option), text);
    } else if constexpr (std::is_integral_v<Value>) {
      return ReadNumber(option, text);
    } else {
      return "";
    }
  });
}

std::string ValueText(const ConfigOption& option, const Config& config) {
  return VisitField(option, [&](auto field) -> std::string {
    const auto& value = config.*field;
    using Value = ValueOf<decltype(field)>;
    if constexpr (std::is_enum_v<Value>) {
      for (const auto& [name, choice] : ChoicesOf(field)) {
        if (choice == value) return name;
      }
      return "";
    } else if constexpr (std::is_integral_v<Value>) {
      return NumberText(option, value);
    } else {
      return value;
    }
  });
}

std::string ChoiceNames(const ConfigOption& option) {
  return VisitField(option, [](auto field) {
    std::string names;
    if constexpr (std::is_enum_v<ValueOf<decltype(field)>>) {
      for (const auto& [name, choice] : ChoicesOf(field)) {
        absl::StrAppend(&names, names.empty() ? "" : "|", name);
      }
    }
    return names;
  });
}

std::string ToFile(const Config& config) {
  std::string text;
  for (const ConfigOption& option : ConfigOptions()) {
    if (const char* const section = SectionBegunBy(option); section != nullptr) {
      absl::StrAppend(&text, text.empty() ? "" : "\n", "## ", section, "\n");
    }
    absl::StrAppend(&text, "# ", option.meaning, "\n", option.name, " = ",
                    Quoted(ValueText(option, config)), "\n");
  }
  return text;
}

std::string OptionsPage() {
  const Config defaults;
  std::string text;
  for (const ConfigOption& option : ConfigOptions()) {
    if (const char* const section = SectionBegunBy(option); section != nullptr) {
      absl::StrAppend(
          &text, text.empty() ? "" : "\n", "## ", section,
          "\n\n| flag | key in the file | variable | unit | default | values | SIGHUP | meaning |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    }
    const std::string value = ValueText(option, defaults);
    absl::StrAppend(&text, "| `--", option.name, "` | `", option.name, "` | `",
                    EnvironmentName(option.name), "` | ", option.unit, " | ",
                    value.empty() ? "" : absl::StrCat("`", value, "`"), " | ",
                    Cell(RangeText(option)), " | ", option.change == Change::kOnReload ? "yes" : "",
                    " | ", option.meaning, " |\n");
  }
  return text;
}

}  // namespace warpfold
