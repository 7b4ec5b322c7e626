// Text for a terminal that is narrower than it.
//
// Thread safety: functions without state. Widths count UTF-8 characters, not bytes, and colours
// (color.h) not at all.
#ifndef WARPFOLD_CLIENT_CPP_CLI_WRAP_H_
#define WARPFOLD_CLIENT_CPP_CLI_WRAP_H_

#include <cstddef>
#include <string>
#include <vector>

namespace warpfold::client {

// How many columns `text` takes.
std::size_t TextWidth(const std::string& text);

// `text` in lines of at most `columns`, cut at spaces; a longer word is cut behind a comma,
// or is a line of its own.
std::vector<std::string> WrappedLines(const std::string& text, std::size_t columns);

// `help` with lines of at most `columns`: a longer one goes on under the text that is behind the
// name of an option or a command. `columns` 0: as it is.
std::string WrappedHelp(const std::string& help, int columns);

// Of the terminal that stdout is, or what COLUMNS says of it; 0: it is none.
int StdoutColumns();

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_WRAP_H_
