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

// What is wrong with main's arguments, after a parse of them that failed with `error`: "no option
// '--omitnan'; did you mean --omit-nan?" comes before what is missing. Options have the name that
// was given; the target may be WARPFOLD_TARGET's.
std::string UsageText(const CLI::App& app, const CLI::ParseError& error, int argc,
                      const char* const* argv);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_USAGE_H_
