// `warpfold`, the command line client: flags in, a subcommand run, an exit code out.
//
// Exit codes: 0 done; 1 done, and found what was looked for; 2 the input, usage or token is wrong;
// 3 the server or the network failed, or stdout could not be written. The message is on stderr.
#include <grpcpp/version_info.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/cli/app.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/completion.h"
#include "client/cpp/cli/element.h"
#include "client/cpp/cli/interface.h"
#include "client/cpp/cli/man_page.h"
#include "client/cpp/cli/usage.h"
#include "client/cpp/cli/wrap.h"

namespace warpfold::client {
namespace {

constexpr int kExitFound = 1;
constexpr int kExitBadInput = 2;
constexpr int kExitFailure = 3;

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  // gRPC's words and the client library's for a limit of ours; a server's limits have others.
  const bool is_ours =
      absl::IsDeadlineExceeded(status) && absl::StrContains(status.message(), "Deadline Exceeded");
  std::cerr << "warpfold: " << Printable(std::string(status.message()))
            << (is_ours ? "; --timeout sets another limit" : "")
            << (absl::IsUnauthenticated(status)
                    ? "; --token-file or WARPFOLD_TOKEN_FILE names the file of a token"
                    : "")
            << "\n";
  const bool is_users = IsInputFault(status) || absl::IsUnauthenticated(status);
  return is_users ? kExitBadInput : kExitFailure;
}

// Container engines take 1 for unhealthy.
int ReportHealth(const absl::Status& status) {
  const int code = Report(status);
  return code == kExitFailure ? kExitFound : code;
}

int Report(const absl::StatusOr<Verdict>& verdict) {
  if (!verdict.ok()) return Report(verdict.status());
  return *verdict == Verdict::kFound ? kExitFound : 0;
}

// Of several files.
template <typename Outcome>
int ReportWorst(const std::vector<Outcome>& outcomes) {
  int code = 0;
  for (const Outcome& outcome : outcomes) code = std::max(code, Report(outcome));
  return code;
}

// What `warpfold COMMAND --help` prints.
absl::Status PrintHelp(const CLI::App& app, const std::string& command) {
  if (command.empty()) {
    // Not app.help(), which is that of the command that was parsed: this one's.
    std::cout << WrappedHelp(
        app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal),
        StdoutColumns());
    return absl::OkStatus();
  }
  const std::vector<std::string> names = CommandNames(app);
  if (std::find(names.begin(), names.end(), command) == names.end()) {
    return absl::InvalidArgumentError(UnknownCommandText(app, command));
  }
  std::cout << WrappedHelp(app.get_subcommand(command)->help(app.get_name()), StdoutColumns());
  return absl::OkStatus();
}

// REQUIRES: `app` has parsed a command line.
int RunSubcommand(const CLI::App& app, const Flags& flags) {
  const auto is = [&](const char* name) { return app.got_subcommand(name); };
  if (is("reduce")) return ReportWorst(RunReduce(flags.server, flags.reduce));
  if (is("describe")) return ReportWorst(RunDescribe(flags.server, flags.describe));
  if (is("diff")) return Report(RunDiff(flags.server, flags.diff));
  if (is("watch")) return Report(RunWatch(flags.server, flags.watch));
  if (is("bench")) return Report(RunBench(flags.server, flags.bench));
  if (is("health")) return ReportHealth(RunHealth(flags.server, flags.health));
  if (is("info")) return Report(RunInfo(flags.server));
  if (is("help")) return Report(PrintHelp(app, flags.help_command));
  const Interface interface = InterfaceOf(app);
  std::cout << (is("man") ? ManPage(interface) : Completion(interface, flags.shell));
  return 0;
}

// `code` once all of stdout is out. A reader that has gone took what it wanted: that is no failure.
int Flushed(int code) {
  if (std::cout.flush()) return code;
  pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (poll(&out, 1, /*timeout=*/0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0) return code;
  std::cerr << "warpfold: stdout: cannot be written\n";
  return kExitFailure;
}

// What GRPC_EXPERIMENTS says already stays. Before gRPC is used and before there are threads.
void LeaveOutEventEngine() {
#if GRPC_CPP_VERSION_MINOR > 51  // 1.51 logs an error of names that it does not know
  // As the server. With it p50 of 4 KiB was 256 us, without 216 (1.83, 2 busy processors,
  // 2026-11-29).
  setenv("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener", /*overwrite=*/0);
#endif
}

int Main(int argc, char** argv) {
  LeaveOutEventEngine();
  // As the server: Debian 12's mutexes, gRPC's too, would look for deadlocks at every lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Flags flags;
  const std::unique_ptr<CLI::App> app = MakeApp(flags, WARPFOLD_VERSION);
  try {
    ParseFlags(*app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app->exit(error, text);
      std::cout << WrappedHelp(text.str(), StdoutColumns());
      return Flushed(0);
    }
    return Flushed(Report(absl::InvalidArgumentError(UsageText(*app, error, argc, argv))));
  }
  return Flushed(RunSubcommand(*app, flags));
}

}  // namespace
}  // namespace warpfold::client

int main(int argc, char** argv) { return warpfold::client::Main(argc, argv); }
