#include "server/check/port_check.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/frontend/grpc/running_server.h"
#include "server/system/socket_file.h"

namespace warpfold {
namespace {

constexpr char kSubject[] = "host";
constexpr char kServer[] = "warpfold-server";

// "warpfold-server 0.1.0", by what such a one said to AskServerVersion.
std::string NameOf(const absl::StatusOr<std::string>& version) {
  if (version.ok()) return absl::StrCat(kServer, " ", *version);
  return absl::StrCat(kServer, absl::IsUnavailable(version.status())
                                   ? ", which tells nothing without TLS"
                                   : " that does not answer");
}

void AddHeld(const std::string& option, const HostPort& at, bool speaks_grpc,
             const std::string& check, CheckReport& report) {
  const std::string other = absl::StrCat("give --", option, " another port");
  const std::string second = absl::StrCat("a second server needs another --", option);
  const std::optional<PortHolder> holder = FindPortHolder(at.port);
  if (holder.has_value() && holder->pid == getpid()) {
    report.Fail(kSubject, check, "taken by another address of this server", other);
    return;
  }
  const bool is_server = holder.has_value() && holder->command == kServer;
  // Also where the system does not tell this user who holds it.
  const bool asks = speaks_grpc && (is_server || !holder.has_value());
  const absl::StatusOr<std::string> version =
      asks ? AskServerVersion({at}) : absl::UnknownError("was not asked");
  if (!holder.has_value()) {
    if (version.ok()) {
      report.Warn(kSubject, check, absl::StrCat("held by ", NameOf(version), ", of another user"),
                  second);
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
  report.Warn(kSubject, check, absl::StrCat("held by ", asks ? NameOf(version) : kServer, pid),
              second);
}

}  // namespace

ListeningPort CheckPort(const std::string& option, const HostPort& address, bool speaks_grpc,
                        CheckReport& report) {
  const std::string check = absl::StrCat("port ", ToString(address));
  ListeningPort tried = TryListening(address);
  const int error = tried.error;
  if (error == 0) {
    report.Ok(kSubject, check, address.port == 0 ? "any that is free" : "free");
  } else if (error == EADDRINUSE) {
    AddHeld(option, address, speaks_grpc, check, report);
  } else {
    report.Fail(kSubject, check, WhyNotListening(address, error),
                absl::StrCat("give --", option, " an address of this host that this user may use"));
  }
  return tried;
}

void CheckSocket(const UnixSocket& socket, CheckReport& report) {
  const std::string check = ToString(ListenAddress{socket});
  const absl::Status free = CheckFree(socket);
  if (free.ok()) {
    report.Ok(kSubject, check, "free");
  } else if (const auto version = AskServerVersion({socket}); version.ok()) {
    report.Warn(kSubject, check, absl::StrCat("held by ", NameOf(version)),
                "a second server needs another --listen-address");
  } else {
    // "listen-address: cannot listen on unix:/path: why"
    const std::vector<std::string> parts =
        absl::StrSplit(free.message(), absl::MaxSplits(absl::StrCat(check, ": "), 1));
    report.Fail(kSubject, check, parts.back(),
                "give --listen-address a socket that this user may make there");
  }
}

}  // namespace warpfold
