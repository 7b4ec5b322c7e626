// The help of `warpfold` and of its commands: the same text with every version of CLI11, whose own
// changes.
//
// Thread safety: without state.
#ifndef WARPFOLD_CLIENT_CPP_CLI_HELP_H_
#define WARPFOLD_CLIENT_CPP_CLI_HELP_H_

#include <CLI/CLI.hpp>
#include <string>

namespace warpfold::client {

// An app takes it before it gets its subcommands, which take it over.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  // `name` is what is typed for the command: "warpfold reduce".
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_HELP_H_
