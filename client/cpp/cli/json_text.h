// What `--json` prints.
//
// Thread safety: a pure function.
#ifndef WARPFOLD_CLIENT_CPP_CLI_JSON_TEXT_H_
#define WARPFOLD_CLIENT_CPP_CLI_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace warpfold::client {

// With an `indent` of -1 on one line. Names come from files, command lines and servers: what of
// them is no UTF-8 becomes U+FFFD, where dump() alone throws.
inline std::string JsonText(const nlohmann::ordered_json& json, int indent = 2) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_JSON_TEXT_H_
