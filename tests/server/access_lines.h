// An access log whose lines a test reads.
#ifndef WARPFOLD_TESTS_SERVER_ACCESS_LINES_H_
#define WARPFOLD_TESTS_SERVER_ACCESS_LINES_H_

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/observe/log/access_log.h"
#include "spdlog/sinks/ostream_sink.h"

namespace warpfold {

class AccessLines {
 public:
  explicit AccessLines(const AccessLogOptions& options) : access_log_(*log_, options) {}

  AccessLog& access_log() { return access_log_; }

  // Once, when nothing writes any more.
  std::vector<nlohmann::json> Take() {
    log_ = nullptr;  // writes what it has
    std::vector<nlohmann::json> lines;
    std::istringstream in(out_.str());
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

 private:
  std::ostringstream out_;
  std::unique_ptr<Log> log_ =
      std::make_unique<Log>(LogOptions{.format = LogFormat::kJson},
                            std::make_shared<spdlog::sinks::ostream_sink_mt>(out_));
  AccessLog access_log_;
};

}  // namespace warpfold

#endif  // WARPFOLD_TESTS_SERVER_ACCESS_LINES_H_
