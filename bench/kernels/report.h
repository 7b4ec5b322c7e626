// The flags that the kernel benches share, and the JSON that they write: what was measured, on
// what, when and from which commit.
#ifndef WARPFOLD_BENCH_KERNELS_REPORT_H_
#define WARPFOLD_BENCH_KERNELS_REPORT_H_

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cub/version.cuh>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/kernels/timing.h"

namespace warpfold::bench {

struct Report {
  std::string json_path, commit = "unknown", date = "unknown";
  nlohmann::json results = nlohmann::json::array();

  void AddFlags(CLI::App& app) {
    app.add_option("--json", json_path, "write the results here");
    app.add_option("--commit", commit, "recorded in the results");
    app.add_option("--date", date, "recorded in the results");
  }

  // Writes what --json asked for, with `more` beside the common fields; nothing without it.
  void Write(const cudaDeviceProp& gpu, int argc, char** argv,
             const nlohmann::json& more = nlohmann::json::object()) const {
    if (json_path.empty()) return;
    int driver = 0;
    Check(cudaDriverGetVersion(&driver));
    std::string command;
    for (int i = 0; i < argc; ++i) command += (i ? " " : "") + std::string(argv[i]);
    nlohmann::json out = {
        {"gpu", gpu.name},    {"driver_cuda", driver}, {"runtime_cuda", CUDART_VERSION},
        {"cub", CUB_VERSION}, {"date", date},          {"commit", commit},
        {"command", command}, {"results", results}};
    out.update(more);
    std::ofstream file(json_path);
    file << out.dump(1) << "\n";
    if (!file.flush()) {
      std::fprintf(stderr, "bench: %s: cannot be written\n", json_path.c_str());
      std::exit(1);
    }
  }
};

}  // namespace warpfold::bench

#endif  // WARPFOLD_BENCH_KERNELS_REPORT_H_
