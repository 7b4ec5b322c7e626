// What is said of a command line that is wrong.
//
// Thread safety: pure functions.
#ifndef WARPFOLD_CLIENT_CPP_CLI_USAGE_H_
#define WARPFOLD_CLIENT_CPP_CLI_USAGE_H_

#include <CLI/CLI.hpp>
#include <string>

namespace warpfold::client {

// "no command 'desribe'; did you mean describe?"
std::string UnknownCommandText(const CLI::App& app, const std::string& word);

// After a parse that failed because there is no command: the word that is none; empty when there is
// no word at all.
std::string UnknownCommand(const CLI::App& app);

// After a parse that found more than it knows: "no option '--omitnan'; did you mean --omit-nan?",
// or what else was not expected, in the order given.
std::string UnexpectedText(const CLI::App& app);

// Who gave the target: "--server", "--target" or, when neither is among main's arguments,
// "WARPFOLD_TARGET".
std::string TargetGivenBy(int argc, const char* const* argv);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_USAGE_H_
