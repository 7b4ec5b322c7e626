// warpfold-server: flags -> Config -> Server, or -> --check; SIGHUP reloads, SIGTERM and SIGINT
// drain it.
//
// Exit codes: 0 clean, 1 failure at run time, 2 bad configuration, 3 no device is left, 4 new
// clients did not reach it, 70 no memory (out_of_memory.h). docs/operations.md explains them.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/check/check.h"
#include "server/check/report.h"
#include "server/config.h"
#include "server/config_flags.h"
#include "server/core/admission/caller_table.h"
#include "server/frontend/grpc/grpc_experiments.h"
#include "server/frontend/grpc/library_log.h"
#include "server/observe/log/log.h"
#include "server/open_files.h"
#include "server/option_text.h"
#include "server/out_of_memory.h"
#include "server/server.h"
#include "server/thread_limit.h"
#include "server/version.h"

namespace warpfold {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBadConfig = 2;
constexpr int kExitNoDevice = 3;
constexpr int kExitDeaf = 4;

// Blocked in this thread before any other is made, and so in all: only AwaitSignal sees them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The next signal; 0 when none came within `timeout`.
int AwaitSignal(const sigset_t& signals,
                std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
  timespec time{};
  if (timeout.has_value()) {
    time.tv_sec = timeout->count() / 1000;
    time.tv_nsec = timeout->count() % 1000 * 1'000'000;
  }
  while (true) {
    const int signal = sigtimedwait(&signals, nullptr, timeout.has_value() ? &time : nullptr);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

const char* Name(int signal) { return signal == SIGTERM ? "SIGTERM" : "SIGINT"; }

// SIGTERM or SIGINT if one has come.
std::optional<int> PendingStop(sigset_t signals) {
  sigdelset(&signals, SIGHUP);  // taken once the server serves
  const int signal = AwaitSignal(signals, std::chrono::milliseconds(0));
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

// Until SIGTERM or SIGINT, which it returns; each SIGHUP before reloads the configuration.
int ServeUntilStopped(Server& server, const sigset_t& signals, int argc, char** argv) {
  while (true) {
    const int signal = AwaitSignal(signals);
    if (signal != SIGHUP) return signal;
    server.Reload(ReadConfig(argc, argv));
  }
}

// Not ready, but serving, for --drain-delay-ms; another SIGTERM or SIGINT cuts it short.
void Linger(Server& server, sigset_t signals) {
  server.StopServing();
  sigdelset(&signals, SIGHUP);
  const std::chrono::milliseconds delay(server.config().drain_delay_ms);
  if (delay.count() > 0) AwaitSignal(signals, delay);
}

struct End {
  int exit_code = 0;
  const char* reason = "";
};

End EndOf(const Server& server, int stopped_by) {
  if (!server.has_device()) return {kExitNoDevice, "no device is left"};
  if (server.is_deaf()) return {kExitDeaf, "new clients do not reach the server"};
  return {0, Name(stopped_by)};
}

volatile std::sig_atomic_t late_exit_code = 0;

// Ends the process with `exit_code` unless it has ended by itself after `time`.
void EndAfter(std::chrono::milliseconds time, int exit_code) {
  late_exit_code = exit_code;
  signal(SIGALRM, [](int) { _exit(late_exit_code); });
  alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(time).count()));
}

void WarnOfFewOpenFiles(Log& log) {
  const std::int64_t open_files = OpenFilesLimit().soft;
  if (open_files >= kOpenFilesWanted) return;
  log.Write(LogLevel::kWarning, "few open files are allowed: each connection takes two",
            {{"limit", open_files}, {"wanted", kOpenFilesWanted}});
}

// Before the log, which has a thread. How many devices there are is not known yet.
absl::Status TryThreadsOfOneDevice(const Config& config) {
  return TryThreads(ThreadsNeeded(
      config.workers(config.backend == Backend::kCpu ? Backend::kCpu : Backend::kCuda)));
}

int Serve(const Config& config, int argc, char** argv) {
  const sigset_t signals = BlockSignals();
  signal(SIGPIPE, SIG_IGN);  // who stops reading the log must not end the server
  absl::Status system = CheckEnoughOpenFiles(RaiseOpenFiles());
  if (system.ok()) system = TryThreadsOfOneDevice(config);
  if (!system.ok()) {
    std::cerr << "warpfold-server: cannot start: " << system.message() << '\n';
    return kExitFailure;
  }
  Log log(config.log_options());
  const LibraryLog library_log(log);
  WarnOfFewOpenFiles(log);
  // A signal to this process, so that one wait sees whatever comes first.
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(config, log, [] { kill(getpid(), SIGTERM); });
  if (!server.ok()) {
    log.Write(LogLevel::kError, "cannot start", {{"status", server.status().message()}});
    return kExitFailure;
  }
  std::optional<int> stopped_by;
  const absl::Status ready = (*server)->MakeReady([&signals, &stopped_by] {
    stopped_by = PendingStop(signals);
    return stopped_by.has_value();
  });
  if (absl::IsCancelled(ready)) {
    log.Write(LogLevel::kInfo, "stopping", {{"reason", Name(*stopped_by)}});
    (*server)->Drain();
    return 0;
  }
  if (!ready.ok()) {
    log.Write(LogLevel::kError, "cannot start", {{"status", ready.message()}});
    return kExitFailure;
  }
  stopped_by = ServeUntilStopped(**server, signals, argc, argv);
  const End end = EndOf(**server, *stopped_by);
  log.Write(LogLevel::kInfo, "stopping", {{"reason", end.reason}});
  if (end.exit_code == kExitDeaf) {
    // Threads that hang, say, keep new clients away and may hold up the drain too.
    const std::chrono::milliseconds drain((*server)->config().drain_timeout_ms);
    EndAfter(drain + std::chrono::seconds(10), kExitDeaf);
  }
  if (end.exit_code == 0) Linger(**server, signals);
  (*server)->Drain();
  // gRPC's own end may wait 10 s for a poller of its, which nobody wakes, after a write that did
  // not end. There is nothing left that it could be waited for.
  EndAfter(std::chrono::seconds(2), end.exit_code);
  return end.exit_code;
}

// Flags that print and leave; not keys of the file.
struct Printing {
  bool config = false;
  bool options = false;
  bool checks_config = false;
  bool check = false;
  bool json = false;
  bool report = false;
  bool hash_token = false;
};

void AddPrinting(CLI::App& app, Printing& printing) {
  const auto add = [&app](const char* name, bool& is_given, const char* help,
                          std::initializer_list<CLI::Option*> goes_without) {
    CLI::Option* const flag = app.add_flag(name, is_given, help)->configurable(false);
    for (CLI::Option* const other : goes_without) flag->excludes(other);
    return flag;
  };
  CLI::Option* const config =
      add("--print-config", printing.config,
          "Print the configuration in force as a file for --config, and exit", {});
  CLI::Option* const checks_config = add("--check-config", printing.checks_config,
                                         "Exit with 0 when the configuration is good, or 2", {});
  CLI::Option* const check =
      add("--check", printing.check,
          "Try everything that the server needs to start (driver, GPUs, memory, ports, known "
          "answers), print a line for each, and exit with 0, or 1 when one failed",
          {config, checks_config});
  CLI::Option* const json =
      add("--json", printing.json, "With --check: print the findings as JSON", {})->needs(check);
  add("--report", printing.report,
      "With --check: print a row for each device that can be sent to others", {json})
      ->needs(check);
  CLI::Option* const hash_token =
      add("--hash-token", printing.hash_token,
          "Read a token from stdin, print its SHA-256 as the file of --callers-file has it, and "
          "exit",
          {config, checks_config, check});
  add("--print-options", printing.options,
      "Print every option as the table of docs/configuration.md, and exit",
      {config, checks_config, check, hash_token});
}

int Check(const Config& config, const Printing& printing) {
  const CheckReport report = CheckAll(config);
  if (printing.json) {
    std::cout << ToJson(report);
  } else if (printing.report) {
    std::cout << ToRows(report, absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()));
    // The rows hold no reasons: those go to whoever runs the check.
    if (!report.ok()) std::cerr << ToText(report);
  } else {
    std::cout << ToText(report);
  }
  return report.ok() ? 0 : kExitFailure;
}

int HashToken() {
  if (isatty(STDIN_FILENO) == 1) std::cerr << "token: ";
  std::string text;
  if (isatty(STDIN_FILENO) == 1) {
    std::getline(std::cin, text);
  } else {
    constexpr std::size_t kBytesMax = 64 << 10;  // more than a token may have
    text.resize(kBytesMax);
    std::cin.read(text.data(), kBytesMax);
    text.resize(static_cast<std::size_t>(std::cin.gcount()));
  }
  // As clients read their token's file; a second line is no part of a token.
  const std::string token(absl::StripAsciiWhitespace(text));
  if (const absl::Status status = CheckToken(token); !status.ok()) {
    std::cerr << "warpfold-server: hash-token: " << status.message() << '\n';
    return kExitBadConfig;
  }
  std::cout << ToHex(HashOf(token)) << '\n';
  return 0;
}

// `status`, or a failure where what was printed did not arrive: the disk is full, say.
int EndOfStdout(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "warpfold-server: stdout: cannot be written\n";
  return kExitFailure;
}

int Main(int argc, char** argv) {
  ChooseGrpcExperiments();
  EndWhenOutOfMemory();
  // Debian 12 builds Abseil without NDEBUG: at every lock its mutexes, gRPC's too, would look for
  // deadlocks, under one lock of the whole process. The tests that run in one process still do.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  CLI::App app{
      "Reduces tensors on GPUs, as a gRPC service (warpfold.v1).\n"
      "Every option can also come from the environment (WARPFOLD_STAGING_BUFFER_BYTES for "
      "--staging-buffer-bytes) or\n"
      "from the file of --config; flags win over the file, the file over the environment.\n"
      "Bytes take units: 4MiB.",
      "warpfold-server"};
  app.set_version_flag("--version", std::string("warpfold-server ") + kVersion);
  Config config;
  Printing printing;
  AddFlags(app, config);
  AddPrinting(app, printing);
  try {
    if (absl::Status status = ParseFlags(app, argc, argv, config); !status.ok()) {
      std::cerr << "warpfold-server: " << status.message() << " (--help lists the options)\n";
      return kExitBadConfig;
    }
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked);
    return EndOfStdout(0);
  }
  if (printing.options) {
    std::cout << OptionsPage();
  } else if (printing.config) {
    std::cout << ToFile(config);
  } else if (printing.hash_token) {
    return EndOfStdout(HashToken());
  } else if (printing.check) {
    return EndOfStdout(Check(config, printing));
  } else if (!printing.checks_config) {
    return Serve(config, argc, argv);
  }
  return EndOfStdout(0);
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
