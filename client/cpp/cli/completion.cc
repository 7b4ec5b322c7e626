#include "client/cpp/cli/completion.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace warpfold::client {
namespace {

std::string FlagWords(const std::vector<Flag>& flags) {
  std::string words;
  for (const Flag& flag : flags) absl::StrAppend(&words, " ", absl::StrJoin(flag.names, " "));
  return words;
}

std::string CommandNames(const Interface& interface, const char* separator) {
  return absl::StrJoin(interface.commands, separator,
                       [](std::string* out, const Command& command) { *out += command.name; });
}

bool TakesPath(const Command& command) {
  return !command.arguments.empty() && command.arguments[0].takes_path;
}

// ---- bash ---------------------------------------------------------------------------------------

// The cases for the value of each flag that takes one.
std::string BashValueCases(const std::string& command, const std::vector<Flag>& flags) {
  std::string cases;
  for (const Flag& flag : flags) {
    if (!flag.takes_value) continue;
    const std::string names =
        absl::StrJoin(flag.names, "|", [&](std::string* out, const std::string& name) {
          absl::StrAppend(out, command, ":", name);
        });
    std::string action;
    if (flag.takes_path) action = "_warpfold_files; ";
    if (!flag.choices.empty()) {
      action = absl::StrCat("_warpfold_words '", absl::StrJoin(flag.choices, " "), "'; ");
    }
    absl::StrAppend(&cases, "    ", names, ") ", action, "return ;;\n");
  }
  return cases;
}

std::string BashCompletion(const Interface& interface) {
  std::string values = BashValueCases("*", interface.flags);
  std::string words = absl::StrCat("    '') _warpfold_words '", CommandNames(interface, " "),
                                   FlagWords(interface.flags), "' ;;\n");
  for (const Command& command : interface.commands) {
    absl::StrAppend(&values, BashValueCases(command.name, command.flags));
    absl::StrAppend(&words, "    ", command.name, ":-*) _warpfold_words '",
                    (FlagWords(command.flags) + FlagWords(interface.flags)).substr(1), "' ;;\n");
    if (TakesPath(command)) {
      absl::StrAppend(&words, "    ", command.name, ":*) _warpfold_files ;;\n");
    }
  }
  return absl::StrCat(
      R"(# bash completion of warpfold. Made by `warpfold completion bash`.
_warpfold_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_warpfold_files() { mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }
_warpfold() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' word
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
    )",
      CommandNames(interface, "|"), R"() command=$word; break ;;
    esac
  done
  case $command:$prev in
)",
      values, R"(  esac
  case ${command:+$command:$cur} in
)",
      words, R"(  esac
}
complete -o filenames -F _warpfold warpfold
)");
}

// ---- zsh ----------------------------------------------------------------------------------------

// In single quotes, and in a specification of _arguments or _describe.
std::string ZshText(std::string_view text) {
  return absl::StrReplaceAll(
      std::string(text),
      {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"\\", "\\\\"}});
}

std::string ZshValue(const Flag& flag) {
  if (flag.takes_path) return ":file:_files";
  if (!flag.choices.empty()) return absl::StrCat(":value:(", absl::StrJoin(flag.choices, " "), ")");
  return flag.takes_value ? ":value: " : "";
}

std::string ZshFlags(const std::vector<Flag>& flags, const char* indent) {
  std::string specs;
  for (const Flag& flag : flags) {
    for (const std::string& name : flag.names) {
      absl::StrAppend(&specs, indent, "'", name, "[", ZshText(flag.help), "]", ZshValue(flag),
                      "' \\\n");
    }
  }
  return specs;
}

std::string ZshCompletion(const Interface& interface) {
  std::string described;
  std::string cases;
  for (const Command& command : interface.commands) {
    absl::StrAppend(&described, "    '", command.name, ":", ZshText(command.help), "'\n");
    absl::StrAppend(&cases, "        ", command.name, ")\n          _arguments \\\n",
                    ZshFlags(command.flags, "            "),
                    ZshFlags(interface.flags, "            "));
    absl::StrAppend(&cases, "            ", TakesPath(command) ? "'*:file:_files'" : "'*: :'",
                    "\n          ;;\n");
  }
  return absl::StrCat(R"(#compdef warpfold
# zsh completion of warpfold. Made by `warpfold completion zsh`.
_warpfold() {
  local context state line
  local -a commands
  commands=(
)",
                      described, R"(  )
  _arguments -C \
)",
                      ZshFlags(interface.flags, "    "), R"(    '1: :->command' \
    '*:: :->argument'
  case $state in
    command) _describe -t commands 'warpfold command' commands ;;
    argument)
      case $words[1] in
)",
                      cases, R"(      esac
      ;;
  esac
}
_warpfold "$@"
)");
}

// ---- fish ---------------------------------------------------------------------------------------

std::string FishText(std::string_view text) {
  return absl::StrReplaceAll(std::string(text), {{"\\", "\\\\"}, {"'", "\\'"}});
}

std::string FishFlags(const std::string& condition, const std::vector<Flag>& flags) {
  std::string lines;
  for (const Flag& flag : flags) {
    absl::StrAppend(&lines, "complete -c warpfold", condition);
    for (const std::string& name : flag.names) {
      absl::StrAppend(&lines,
                      name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
    }
    if (flag.takes_path) {
      absl::StrAppend(&lines, " -r -F");
    } else if (!flag.choices.empty()) {
      absl::StrAppend(&lines, " -x -a '", absl::StrJoin(flag.choices, " "), "'");
    } else if (flag.takes_value) {
      absl::StrAppend(&lines, " -x");
    }
    absl::StrAppend(&lines, " -d '", FishText(flag.help), "'\n");
  }
  return lines;
}

std::string FishCompletion(const Interface& interface) {
  std::string lines = absl::StrCat(
      "# fish completion of warpfold. Made by `warpfold completion fish`.\n"
      "complete -c warpfold -f\n",
      FishFlags("", interface.flags));
  for (const Command& command : interface.commands) {
    const std::string seen = absl::StrCat(" -n '__fish_seen_subcommand_from ", command.name, "'");
    absl::StrAppend(&lines, "complete -c warpfold -n __fish_use_subcommand -a ", command.name,
                    " -d '", FishText(command.help), "'\n", FishFlags(seen, command.flags));
    if (TakesPath(command)) absl::StrAppend(&lines, "complete -c warpfold", seen, " -F\n");
  }
  return lines;
}

}  // namespace

std::string Completion(const Interface& interface, const std::string& shell) {
  if (shell == "bash") return BashCompletion(interface);
  if (shell == "zsh") return ZshCompletion(interface);
  return FishCompletion(interface);
}

}  // namespace warpfold::client
