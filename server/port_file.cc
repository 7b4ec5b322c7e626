#include "server/port_file.h"

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace warpfold {

// Written beside and renamed, so that a reader sees both ports or no file.
absl::Status WritePortFile(const std::string& path, int grpc_port, int metrics_port) {
  const std::string unfinished = path + ".part";
  {
    std::ofstream file(unfinished, std::ios::trunc);
    file << grpc_port << ' ' << metrics_port << '\n';
    file.close();
    if (!file) {
      return absl::UnavailableError(absl::StrCat("port-file: cannot write ", unfinished));
    }
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return absl::UnavailableError(absl::StrCat("port-file: cannot write ", path));
  }
  return absl::OkStatus();
}

}  // namespace warpfold
