// Colour on a terminal: whether, and how.
//
// Thread safety: pure, but for reading the environment.
#ifndef WARPFOLD_CLIENT_CPP_CLI_COLOR_H_
#define WARPFOLD_CLIENT_CPP_CLI_COLOR_H_

#include <string>

namespace warpfold::client {

// SGR codes of ECMA-48.
enum class Color { kRed = 31, kGreen = 32, kYellow = 33, kBold = 1 };

// Whether to colour what goes to `fd`, as `when` ("auto", "always", "never") says. "auto": when it
// is a terminal that is not dumb, unless NO_COLOR is set to something (no-color.org).
bool UseColor(const std::string& when, int fd);

// `text` in `color`, or as it is when not `use`.
std::string Colored(const std::string& text, Color color, bool use);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_COLOR_H_
