#include "client/cpp/cli/wrap.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kTextColumnsLeast = 24;  // beside the name of an option

std::string WrappedHelpLine(const std::string& line, std::size_t columns) {
  const std::size_t lead = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", lead);
  std::size_t hang =
      gap == line.npos ? lead : std::min(line.find_first_not_of(' ', gap), line.size());
  const std::string body = line.substr(hang);
  std::string wrapped = line.substr(0, hang);
  if (hang + kTextColumnsLeast > columns) {  // the text is below its name
    wrapped.erase(wrapped.find_last_not_of(' ') + 1);
    hang = lead < hang ? lead + 4 : 4;
    absl::StrAppend(&wrapped, wrapped.empty() ? "" : "\n", std::string(hang, ' '));
  }
  const std::vector<std::string> lines = WrappedLines(body, columns - std::min(hang, columns - 1));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    absl::StrAppend(&wrapped, i > 0 ? "\n" + std::string(hang, ' ') : "", lines[i]);
  }
  return wrapped;
}

}  // namespace

std::size_t TextWidth(const std::string& text) {
  std::size_t width = 0;
  bool in_escape = false;
  for (const char c : text) {
    if (c == '\x1b') in_escape = true;
    if (!in_escape && (c & 0xc0) != 0x80) ++width;
    if (c == 'm') in_escape = false;
  }
  return width;
}

std::vector<std::string> WrappedLines(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  std::vector<std::string> words = absl::StrSplit(text, ' ');
  for (std::string& word : words) {
    // A list of names: "{unary,stream,...}".
    while (TextWidth(word) > columns) {
      const std::size_t comma = columns == 0 ? word.npos : word.rfind(',', columns - 1);
      if (comma == word.npos) break;
      lines.push_back(word.substr(0, comma + 1));
      word.erase(0, comma + 1);
    }
    if (!lines.empty() && TextWidth(lines.back()) + 1 + TextWidth(word) <= columns) {
      absl::StrAppend(&lines.back(), " ", word);
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::string WrappedHelp(const std::string& help, int columns) {
  if (columns <= 0) return help;
  std::vector<std::string> lines = absl::StrSplit(help, '\n');
  for (std::string& line : lines) {
    const auto most = static_cast<std::size_t>(columns);
    if (TextWidth(line) > most) line = WrappedHelpLine(line, most);
  }
  return absl::StrJoin(lines, "\n");
}

int StdoutColumns() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  int columns = 0;
  const char* const said = std::getenv("COLUMNS");
  if (said != nullptr && absl::SimpleAtoi(said, &columns) && columns > 0) return columns;
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace warpfold::client
