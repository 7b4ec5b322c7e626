#include "server/check/host_checks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/callers_file.h"
#include "server/check/port_check.h"
#include "server/frontend/grpc/tls.h"
#include "server/kernel_cache.h"
#include "server/memory_plan.h"
#include "server/open_files.h"
#include "server/system/host_port.h"
#include "server/thread_limit.h"

namespace warpfold {
namespace {

constexpr char kHost[] = "host";
constexpr absl::Duration kCertificateWarning = absl::Hours(14 * 24);

}  // namespace

void CheckOpenFiles(std::int64_t files, CheckReport& report) {
  const std::string text = files == std::numeric_limits<std::int64_t>::max()
                               ? "unlimited"
                               : absl::StrCat("up to ", files);
  const std::string remedy =
      absl::StrCat("each connection takes two: raise the hard limit to ", kOpenFilesWanted,
                   " (ulimit -Hn, LimitNOFILE=, --ulimit nofile=)");
  if (files >= kOpenFilesWanted) {
    report.Ok(kHost, "open files", text);
  } else if (CheckEnoughOpenFiles(files).ok()) {
    report.Warn(kHost, "open files", text, remedy);
  } else {
    report.Fail(kHost, "open files", text, remedy);
  }
}

void CheckThreads(int count, CheckReport& report) {
  if (const absl::Status status = TryThreads(count); status.ok()) {
    report.Ok(kHost, "threads", absl::StrCat(count, " can be started"));
  } else {
    // "threads: what is there; what to do"
    const std::vector<std::string> parts =
        absl::StrSplit(status.message(), absl::MaxSplits("; ", 1));
    report.Fail(kHost, "threads", std::string(absl::StripPrefix(parts[0], "threads: ")), parts[1]);
  }
}

void CheckMemory(const Config& config, Backend backend, int device_count, const MemoryLimit& limit,
                 CheckReport& report) {
  const MemoryPlan plan(config, backend, device_count);
  if (plan.Fits(limit).ok()) {
    report.Ok(kHost, "memory",
              absl::StrCat(plan.Sum(), ", of ", ShareText(limit), "; requests share ",
                           plan.LeftForRequests(limit) >> 20, " MiB"));
  } else {
    report.Fail(kHost, "memory", absl::StrCat(plan.Sum(), ", above ", ShareText(limit)),
                "raise the limit, or lower --max-bytes-in-flight (counted twice) or others of the "
                "sum");
  }
}

void CheckPorts(const Config& config, CheckReport& report) {
  std::set<std::string> files;
  std::vector<ListeningPort> taken;  // until all are tried: one may exclude another
  for (const ListenAddress& address : config.listen_addresses()) {
    if (const UnixSocket* socket = address.unix_socket(); socket != nullptr) {
      // By links a file may have several paths: the server that came last would replace it.
      std::error_code error;
      const bool is_first =
          files.insert(std::filesystem::weakly_canonical(socket->path, error).string()).second;
      if (is_first || error) {
        CheckSocket(*socket, report);
      } else {
        report.Fail(kHost, ToString(address), "taken by another address of this server",
                    "give each socket of --listen-address a file of its own");
      }
      continue;
    }
    ListeningPort tried = CheckPort("listen-address", *address.tcp(),
                                    /*speaks_grpc=*/!config.uses_tls(), report);
    // One that the system chose may be the next's.
    if (address.tcp()->port != 0) taken.push_back(std::move(tried));
  }
  if (config.serves_metrics()) {
    CheckPort("metrics-address", *ParseHostPort(config.metrics_address), /*speaks_grpc=*/false,
              report);
  }
}

void CheckTls(const Config& config, CheckReport& report) {
  if (!config.uses_tls()) {
    const std::vector<std::string> open = OpenAddresses(config);
    if (open.empty()) {
      report.Ok(kHost, "TLS", "off");
    } else {
      report.Warn(kHost, "TLS",
                  absl::StrCat("off, and other hosts reach ", absl::StrJoin(open, ", ")),
                  "give --tls-cert and --tls-key, or put nginx before the server (docs/edge.md)");
    }
    return;
  }
  const absl::StatusOr<std::unique_ptr<TlsCertificate>> tls =
      TlsCertificate::Load({.certificate = config.tls_cert,
                            .private_key = config.tls_key,
                            .client_ca = config.tls_client_ca});
  if (!tls.ok()) {
    report.Fail(kHost, "TLS", std::string(tls.status().message()),
                "give --tls-cert, --tls-key and --tls-client-ca PEM files that this user may read, "
                "that fit, and that are valid now");
    return;
  }
  const absl::Time end = (*tls)->not_after();
  const std::string text =
      absl::StrCat("certificate and key fit, valid until ",
                   absl::FormatTime("%Y-%m-%d %H:%M UTC", end, absl::UTCTimeZone()),
                   config.tls_client_ca.empty() ? "; clients are not asked for one"
                                                : "; clients have to show one");
  if (end - absl::Now() > kCertificateWarning) {
    report.Ok(kHost, "TLS", text);
  } else {
    report.Warn(kHost, "TLS", text, "renew it: the server reads the files again on SIGHUP");
  }
}

void CheckCallers(const Config& config, CheckReport& report) {
  const absl::StatusOr<CallerTable> callers =
      ReadCallers(config.callers_file, config.listen_addresses());
  if (!callers.ok()) {
    report.Fail(kHost, "callers", std::string(callers.status().message()),
                "give --callers-file a file as docs/callers.md has it, which this user may read");
    return;
  }
  report.Ok(
      kHost, "callers",
      callers->asks_nobody() ? "nobody is asked who they are" : absl::StrCat(callers->count()));
  for (const std::string& warning : SecurityWarnings(config, *callers)) {
    report.Warn(kHost, "access", warning,
                "docs/callers.md has the options; on a network of friends it may be what you want");
  }
}

void CheckPortFile(const Config& config, CheckReport& report) {
  if (config.port_file.empty()) return;
  // It is written beside and renamed: the folder has to take it.
  const std::filesystem::path path(config.port_file);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::string problem;
  if (std::filesystem::is_directory(path, error)) {
    problem = absl::StrCat(path.string(), " is a folder");
  } else if (!std::filesystem::is_directory(folder, error)) {
    problem = absl::StrCat(folder.string(), " is no folder");
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    problem = absl::StrCat(folder.string(), ": ", std::strerror(errno));
  }
  if (problem.empty()) {
    report.Ok(kHost, "port file", path.string());
  } else {
    report.Fail(kHost, "port file", problem, "give --port-file a file that can be written");
  }
}

void CheckKernelCache(CheckReport& report) {
  const KernelCache cache = FindKernelCache();
  if (cache.problem.empty()) {
    report.Ok(kHost, "kernel cache", cache.folder);
  } else {
    report.Warn(kHost, "kernel cache", cache.problem,
                "set CUDA_CACHE_PATH to a folder that can be written, or every start compiles for "
                "minutes");
  }
}

}  // namespace warpfold
