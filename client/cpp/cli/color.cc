#include "client/cpp/cli/color.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace warpfold::client {

bool UseColor(const std::string& when, int fd) {
  if (when == "always") return true;
  if (when == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(fd) == 1;
}

std::string Colored(const std::string& text, Color color, bool use) {
  if (!use || text.empty()) return text;
  return absl::StrCat("\x1b[", static_cast<int>(color), "m", text, "\x1b[0m");
}

}  // namespace warpfold::client
