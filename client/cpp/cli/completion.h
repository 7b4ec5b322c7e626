// Completion files of bash, zsh and fish, from the command line's own description: commands, flags,
// the values that a flag takes, and files where a path goes.
//
// Thread safety: pure.
#ifndef WARPFOLD_CLIENT_CPP_CLI_COMPLETION_H_
#define WARPFOLD_CLIENT_CPP_CLI_COMPLETION_H_

#include <string>

#include "client/cpp/cli/interface.h"

namespace warpfold::client {

// REQUIRES: shell is "bash", "zsh" or "fish".
std::string Completion(const Interface& interface, const std::string& shell);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_COMPLETION_H_
