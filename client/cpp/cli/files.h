// The loop of the commands that take several files.
//
// Thread safety: none needed, one command runs at a time.
#ifndef WARPFOLD_CLIENT_CPP_CLI_FILES_H_
#define WARPFOLD_CLIENT_CPP_CLI_FILES_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/json_text.h"

namespace warpfold::client {

// INVALID_ARGUMENT when stdin is more than one of the files.
inline absl::Status CheckFiles(const FilesFlags& flags) {
  if (std::count(flags.files.begin(), flags.files.end(), "-") <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError("stdin: can be one of the files, not several");
}

// What `read` makes of each file's InputFlags, in order, up to a failure that is not a file's: the
// next file would wait for the same server.
template <typename Result, typename Read>
std::vector<absl::StatusOr<Result>> ForEachFile(const FilesFlags& flags, const Read& read) {
  std::vector<absl::StatusOr<Result>> results;
  for (const std::string& file : flags.files) {
    results.push_back(read(InputFlags{file, flags.dtype, flags.shape}));
    const absl::Status& status = results.back().status();
    if (!status.ok() && !IsInputFault(status)) break;
  }
  return results;
}

// {"files": [...]}: `json` of each result, or {"file", "error"}.
template <typename Result, typename Json>
nlohmann::ordered_json FilesJson(const std::vector<std::string>& files,
                                 const std::vector<absl::StatusOr<Result>>& results,
                                 const Json& json) {
  nlohmann::ordered_json list = nlohmann::json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) {
      list.push_back(json(*results[i]));
    } else {
      list.push_back({{"file", files[i]}, {"error", results[i].status().message()}});
    }
  }
  return {{"files", std::move(list)}};
}

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_FILES_H_
