// warpfold-server: flags -> Config -> Server; SIGTERM and SIGINT drain it.
//
// Exit codes: 0 clean, 1 failure at run time, 2 bad configuration. docs/operations.md explains
// them.
#include <pthread.h>
#include <signal.h>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "server/config.h"
#include "server/config_options.h"
#include "server/observe/log.h"
#include "server/server.h"
#include "server/version.h"

namespace warpfold {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBadConfig = 2;

// Blocked in this thread before any other is made, and so in all: only WaitForStop sees them.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int WaitForStop(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  return signal;
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

int Serve(const Config& config) {
  const sigset_t signals = BlockStopSignals();
  Log log(config.log_level, config.log_format);
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(config, log);
  if (!server.ok()) {
    log.Write(LogLevel::kError, "cannot start", {{"status", Text(server.status())}});
    return kExitFailure;
  }
  const int signal = WaitForStop(signals);
  log.Write(LogLevel::kInfo, "stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  (*server)->Drain();
  return 0;
}

// Flags that print and leave; not keys of the file.
struct Printing {
  bool config = false;
  bool options = false;
  bool check = false;
};

void AddPrinting(CLI::App& app, Printing& printing) {
  app.add_flag("--print-config", printing.config,
               "Print the configuration in force as a file for --config, and exit")
      ->configurable(false);
  app.add_flag("--check-config", printing.check, "Exit with 0 when the configuration is good, or 2")
      ->configurable(false);
  app.add_flag("--print-options", printing.options,
               "Print every option as the table of docs/configuration.md, and exit")
      ->configurable(false);
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Reduces tensors on GPUs, as a gRPC service (warpfold.v1).\n"
      "Every option can also come from the environment (WARPFOLD_SLAB_BYTES for --slab-bytes) or\n"
      "from the file of --config; flags win over the file, the file over the environment.\n"
      "Bytes take units: 4MiB."};
  app.set_version_flag("--version", std::string("warpfold-server ") + kVersion);
  Config config;
  Printing printing;
  AddFlags(app, config);
  AddPrinting(app, printing);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // also how --help and --version leave
    return app.exit(error) == 0 ? 0 : kExitBadConfig;
  }
  if (printing.options) {
    std::cout << OptionsPage();
    return 0;
  }
  if (absl::Status status = config.Validate(); !status.ok()) {
    std::cerr << "warpfold-server: " << Text(status) << '\n';
    return kExitBadConfig;
  }
  if (printing.config) std::cout << ToFile(config);
  if (printing.config || printing.check) return 0;
  return Serve(config);
}

}  // namespace
}  // namespace warpfold

int main(int argc, char** argv) {
  try {
    return warpfold::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "warpfold-server: " << error.what() << '\n';
    return 1;
  }
}
