// What the parsers of small texts have in common: a view that shrinks from the front.
//
// Thread safety: one thread at a time. A method that does not find what it looks for takes nothing
// but the spaces before it.
#ifndef WARPFOLD_CLIENT_CPP_CLI_TEXT_CURSOR_H_
#define WARPFOLD_CLIENT_CPP_CLI_TEXT_CURSOR_H_

#include <algorithm>
#include <string_view>

namespace warpfold::client {

class TextCursor {
 protected:
  // `spaces`: the characters between tokens.
  TextCursor(std::string_view text, std::string_view spaces) : text_(text), spaces_(spaces) {}

  void SkipSpace() {
    text_.remove_prefix(std::min(text_.find_first_not_of(spaces_), text_.size()));
  }
  bool Next(char c) {
    SkipSpace();
    return text_.starts_with(c);
  }
  bool Take(char c) {
    if (!Next(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::string_view text_;  // what is left

 private:
  std::string_view spaces_;
};

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_TEXT_CURSOR_H_
