#include "client/cpp/cli/table.h"

#include <algorithm>

namespace warpfold::client {
namespace {

std::size_t Width(const std::string& text) {
  std::size_t width = 0;
  bool in_escape = false;
  for (const char c : text) {
    if (c == '\x1b') in_escape = true;
    if (!in_escape && (c & 0xc0) != 0x80) ++width;
    if (c == 'm') in_escape = false;
  }
  return width;
}

}  // namespace

std::string Table::Text() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::vector<std::vector<std::string>> lines = {titles};
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], Width(line[c]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string padding(widths[c] - Width(line[c]), ' ');
      if (c > 0) row += "  ";
      row += columns_[c].align == Align::kLeft ? line[c] + padding : padding + line[c];
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace warpfold::client
