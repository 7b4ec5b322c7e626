#include "server/check/port_check.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/frontend/running_server.h"
#include "server/listen_port.h"

namespace warpfold {
namespace {

constexpr char kSubject[] = "host";
constexpr char kServer[] = "warpfold-server";

// "warpfold-server 0.1.0" when such a one listens at `address` and says so.
std::optional<std::string> AskServer(const std::string& address, bool speaks_grpc) {
  if (!speaks_grpc) return std::nullopt;
  const absl::StatusOr<std::string> version = AskServerVersion(address);
  if (!version.ok()) return std::nullopt;
  return absl::StrCat(kServer, " ", *version);
}

void AddHeld(const std::string& option, const HostPort& at, bool speaks_grpc,
             const std::string& check, CheckReport& report) {
  const std::string other = absl::StrCat("give --", option, " another port");
  const std::string second = absl::StrCat("a second server needs another --", option);
  const std::optional<PortHolder> holder = FindPortHolder(at.port);
  const bool is_server = holder.has_value() && holder->command == kServer;
  // Also where the system does not tell this user who holds it.
  const std::optional<std::string> server =
      is_server || !holder.has_value() ? AskServer(ToString(at), speaks_grpc) : std::nullopt;
  if (!holder.has_value()) {
    if (server.has_value()) {
      report.Warn(kSubject, check, absl::StrCat("held by ", *server, ", of another user"), second);
    } else {
      report.Fail(kSubject, check,
                  "held by a process of another user, which the system does not name",
                  absl::StrCat("run the check as root to see which, or ", other));
    }
    return;
  }
  const std::string pid = absl::StrCat(" (pid ", holder->pid, ")");
  if (!is_server) {
    report.Fail(kSubject, check, absl::StrCat("held by ", holder->command, pid),
                absl::StrCat("end it, or ", other));
    return;
  }
  const std::string silent = speaks_grpc ? absl::StrCat(kServer, " that does not answer") : kServer;
  report.Warn(kSubject, check, absl::StrCat("held by ", server.value_or(silent), pid), second);
}

}  // namespace

void CheckPort(const std::string& option, const std::string& address, bool speaks_grpc,
               CheckReport& report) {
  const std::string check = absl::StrCat("port ", address);
  const std::optional<HostPort> at = ParseHostPort(address);
  const int error = at.has_value() ? ListenError(*at) : EADDRNOTAVAIL;
  if (error == 0) {
    report.Ok(kSubject, check, at->port == 0 ? "any that is free" : "free");
  } else if (error == EADDRINUSE) {
    AddHeld(option, *at, speaks_grpc, check, report);
  } else {
    report.Fail(kSubject, check, std::strerror(error),
                absl::StrCat("give --", option, " an address of this host that this user may use"));
  }
}

}  // namespace warpfold
