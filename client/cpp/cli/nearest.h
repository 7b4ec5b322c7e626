// What somebody meant who typed something else.
//
// Thread safety: pure functions.
#ifndef WARPFOLD_CLIENT_CPP_CLI_NEAREST_H_
#define WARPFOLD_CLIENT_CPP_CLI_NEAREST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpfold::client {

// The only one of `names` that begins with `word`; else the one that `word` becomes by the fewest
// changed, added and lost letters; none when that takes more than some third of them.
std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_NEAREST_H_
