#include "server/connection_log.h"

#include "server/grpc_options.h"
#include "server/open_files.h"

namespace warpfold {

void ConnectionLog::SayMax(const Config& config) {
  log_.Write(LogLevel::kInfo, "connections",
             {{"max", ConnectionsMaxOf(config).count},
              {"max_connections", config.max_connections},
              {"open_files", OpenFilesLimit().soft}});
}

void ConnectionLog::SayRefused(const std::string& peer, const absl::Status& why) {
  if (!lines_.Takes(kLinesPerS)) return;
  if (peer.empty()) {
    log_.Write(LogLevel::kWarning, "connections wait: no descriptor is left",
               {{"status", why.message()}});
  } else {
    log_.Write(LogLevel::kWarning, "connection refused",
               {{"peer", peer}, {"status", why.message()}});
  }
}

}  // namespace warpfold
