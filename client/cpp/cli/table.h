// An aligned table of text, for people.
//
// Thread safety: none needed, one thread fills and prints it. Widths count UTF-8 characters, not
// bytes, and colours (color.h) not at all.
#ifndef WARPFOLD_CLIENT_CPP_CLI_TABLE_H_
#define WARPFOLD_CLIENT_CPP_CLI_TABLE_H_

#include <string>
#include <vector>

namespace warpfold::client {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  bool wraps = false;  // of the last one: see Text
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column.
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // The titles and rows, a line each; two spaces between columns, none at a line's end. Of a
  // terminal of `columns` a last column that wraps goes on below itself, or stands below its row
  // where there is no room for it; 0: of none.
  std::string Text(int columns = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_TABLE_H_
