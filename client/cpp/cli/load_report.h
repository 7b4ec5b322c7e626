// How `warpfold watch` shows a server's load: a screen, a line, or a line of JSON.
//
// Thread safety: pure functions over values.
#ifndef WARPFOLD_CLIENT_CPP_CLI_LOAD_REPORT_H_
#define WARPFOLD_CLIENT_CPP_CLI_LOAD_REPORT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "client/cpp/cli/server_load.h"

namespace warpfold::client {

// "412 us", "1.25 ms", "30.0 s": three significant digits. "-" for none.
std::string DurationText(std::optional<double> seconds);

// A table of the methods and a line of the rest, under a line with `title`.
std::string LoadScreen(const std::string& title, const ServerLoad& load);

// All in one line; methods without requests left out. `time` comes first.
std::string LoadLine(const std::string& time, const ServerLoad& load);

// {"time", "seconds", "bytes_per_second", "refusals_per_second", "in_flight", "queue_depth",
// "workers_in_use", "workers", "methods": {NAME: {"requests_per_second", "errors_per_second",
// "p50_seconds", "p99_seconds"}}}; what is absent is null.
nlohmann::ordered_json LoadJson(const std::string& time, const ServerLoad& load);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_LOAD_REPORT_H_
