#include "client/cpp/cli/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/cli/app.h"

namespace warpfold::client {
namespace {

// `text` as roff prints it: no hyphen becomes a dash, no line a request.
std::string Roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Bold(const std::string& text) { return absl::StrCat("\\fB", Roff(text), "\\fR"); }
std::string Italic(const std::string& text) { return absl::StrCat("\\fI", Roff(text), "\\fR"); }

// "VALUE", "PATH", "bash|zsh"
std::string ValueOf(const Flag& flag) {
  if (flag.takes_path) return Italic("PATH");
  if (flag.choices.empty()) return Italic("VALUE");
  return absl::StrJoin(flag.choices, "|",
                       [](std::string* out, const std::string& choice) { *out += Bold(choice); });
}

void AppendFlag(const Flag& flag, bool positional, std::string& page) {
  absl::StrAppend(&page, ".TP\n");
  if (positional) {
    absl::StrAppend(&page, Italic(flag.names[0]));
  } else {
    absl::StrAppend(&page, absl::StrJoin(flag.names, ", ", [](std::string* out, const auto& name) {
      *out += Bold(name);
    }));
    if (flag.takes_value) absl::StrAppend(&page, " ", ValueOf(flag));
  }
  absl::StrAppend(&page, "\n", Roff(flag.help));
  if (!flag.default_text.empty()) {
    absl::StrAppend(&page, " (default ", Roff(flag.default_text), ")");
  }
  absl::StrAppend(&page, "\n");
}

void AppendCommand(const Command& command, std::string& page) {
  absl::StrAppend(&page, ".SS ", Roff(command.name));
  for (const Flag& argument : command.arguments) absl::StrAppend(&page, " ", argument.names[0]);
  absl::StrAppend(&page, "\n", Roff(command.help), ".\n");
  for (const Flag& argument : command.arguments) AppendFlag(argument, true, page);
  for (const Flag& flag : command.flags) AppendFlag(flag, false, page);
}

}  // namespace

std::string ManPage(const Interface& interface) {
  std::string page = absl::StrCat(
      ".\\\" Made by `", interface.name, " man`.\n.TH ", absl::AsciiStrToUpper(interface.name),
      " 1 \"\" \"", interface.version, "\" \"User Commands\"\n.SH NAME\n", interface.name, " \\- ",
      Roff(interface.help), "\n.SH SYNOPSIS\n", Bold(interface.name), " [", Italic("OPTIONS"), "] ",
      Italic("COMMAND"), " [", Italic("ARGUMENTS"), "]\n.SH OPTIONS\n",
      "These may also come after the command.\n");
  for (const Flag& flag : interface.flags) AppendFlag(flag, false, page);
  absl::StrAppend(&page, ".SH COMMANDS\n");
  for (const Command& command : interface.commands) AppendCommand(command, page);
  absl::StrAppend(&page, ".SH ENVIRONMENT\n");
  for (const Flag& flag : interface.flags) {
    if (flag.environment.empty()) continue;
    absl::StrAppend(&page, ".TP\n", Bold(flag.environment), "\nSets ", Bold(flag.names.back()),
                    " when the flag is not given.\n");
  }
  absl::StrAppend(&page, ".TP\n", Bold("NO_COLOR"), "\nNo colour, whatever its value.\n");
  for (const Note& note : kNotes) {
    absl::StrAppend(&page, ".SH ", absl::AsciiStrToUpper(note.title), "\n", Roff(note.text), "\n",
                    Roff(note.of_files), "\n");
  }
  absl::StrAppend(&page, ".SH EXAMPLES\n.nf\n");
  for (const char* example : kExamples) absl::StrAppend(&page, Roff(example), "\n");
  return page + ".fi\n";
}

}  // namespace warpfold::client
