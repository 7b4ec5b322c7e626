// What `warpfold bench` found, as text and as JSON.
//
// Thread safety: pure functions.
#ifndef WARPFOLD_CLIENT_CPP_CLI_BENCH_REPORT_H_
#define WARPFOLD_CLIENT_CPP_CLI_BENCH_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "client/cpp/cli/commands.h"
#include "client/cpp/load/load.h"

namespace warpfold::client {

// "[=====>    ]  55%  43120 requests/s  0.18 GB/s  3 failed": after `elapsed` of the flags'
// duration.
std::string BenchProgressLine(const BenchFlags& flags, std::int64_t answered, std::int64_t failed,
                              std::chrono::duration<double> elapsed);

std::string BenchText(const std::string& target, const BenchFlags& flags, const LoadReport& report);

// {"target", "device", "method", "dtype", "bytes", "ops", "clients", "rate" (null of a closed
// loop), "requests", "failures": {CODE: count}, "lost" (why nobody answered at the end, or null),
// "seconds", "rps", "gb_per_second", "mean_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us",
// "server_p50_us": {"receive", "queue", "host_to_device", "kernel", "device_to_host", "total"}};
// rates and latencies are those of the answered requests, and the last are the server's own.
nlohmann::ordered_json BenchJson(const std::string& target, const BenchFlags& flags,
                                 const LoadReport& report);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_BENCH_REPORT_H_
