// The command line as data: what the man page and the shell completions are written from.
//
// Thread safety: a plain value; InterfaceOf is pure.
#ifndef WARPFOLD_CLIENT_CPP_CLI_INTERFACE_H_
#define WARPFOLD_CLIENT_CPP_CLI_INTERFACE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace warpfold::client {

struct Flag {
  std::vector<std::string> names;  // "-h", "--help"; of an argument "FILE" or "FILE..."
  std::string help;
  bool takes_value = false;
  bool takes_path = false;
  std::vector<std::string> choices;  // empty: any value
  std::string default_text;          // empty: none
  std::string environment;           // the variable that sets it; empty: none
};

struct Command {
  std::string name;
  std::string help;
  std::vector<Flag> arguments;  // by position
  std::vector<Flag> flags;      // without --help
};

struct Interface {
  std::string name;
  std::string help;
  std::string version;      // "warpfold 1.2.3"
  std::vector<Flag> flags;  // may also come after a command
  std::vector<Command> commands;
};

// Without the subcommands that the help does not show.
Interface InterfaceOf(const CLI::App& app);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_INTERFACE_H_
