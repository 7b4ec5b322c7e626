#include "client/cpp/cli/table.h"

#include <algorithm>

#include "client/cpp/cli/wrap.h"

namespace warpfold::client {
namespace {

constexpr std::size_t kLastColumnLeast = 20;
constexpr std::size_t kBelowIndent = 2;

}  // namespace

std::string Table::Text(int columns) const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::vector<std::vector<std::string>> lines = {titles};
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < widths.size(); ++c)
      widths[c] = std::max(widths[c], TextWidth(line[c]));
  }
  const std::size_t last = widths.size() - 1;
  std::size_t last_at = 0;
  for (std::size_t c = 0; c < last; ++c) last_at += widths[c] + 2;
  const auto room = static_cast<std::size_t>(std::max(columns, 0));
  const bool wraps = columns_[last].wraps && room > 0 && last_at + widths[last] > room;
  const bool is_below = wraps && last_at + kLastColumnLeast > room;
  const std::size_t indent = is_below ? kBelowIndent : last_at;
  std::string text;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::vector<std::string>& line = lines[l];
    std::vector<std::string> more;  // of the last cell, below the row
    if (wraps) {
      more = WrappedLines(line[last], room - std::min(indent, room - 1));
      line[last] = is_below ? "" : more[0];
      const bool has_none = is_below && (l == 0 || more[0].empty());  // nor a title
      more.erase(more.begin(), has_none ? more.end() : more.begin() + (is_below ? 0 : 1));
    }
    std::string row;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::size_t width = TextWidth(line[c]);
      const std::string padding(c == last && wraps ? 0 : widths[c] - width, ' ');
      if (c > 0) row += "  ";
      row += columns_[c].align == Align::kLeft ? line[c] + padding : padding + line[c];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
    for (const std::string& rest : more) text += std::string(indent, ' ') + rest + "\n";
  }
  return text;
}

}  // namespace warpfold::client
