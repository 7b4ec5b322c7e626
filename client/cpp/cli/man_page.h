// warpfold(1), from the command line's own description.
//
// Format: the man macros, man(7).
//
// Thread safety: pure.
#ifndef WARPFOLD_CLIENT_CPP_CLI_MAN_PAGE_H_
#define WARPFOLD_CLIENT_CPP_CLI_MAN_PAGE_H_

#include <string>

#include "client/cpp/cli/interface.h"

namespace warpfold::client {

std::string ManPage(const Interface& interface);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_MAN_PAGE_H_
