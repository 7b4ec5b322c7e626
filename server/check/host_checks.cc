#include "server/check/host_checks.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/check/port_check.h"
#include "server/frontend/tls.h"
#include "server/kernel_cache.h"
#include "server/memory_plan.h"

namespace warpfold {
namespace {

constexpr char kHost[] = "host";
// A connection is a descriptor; some proxies open thousands.
constexpr rlim_t kOpenFilesMin = 65536;
// With fewer the driver's own files and a handful of clients are too many.
constexpr rlim_t kOpenFilesFloor = 256;
constexpr absl::Duration kCertificateWarning = absl::Hours(14 * 24);

std::string LimitText(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit);
}

}  // namespace

void CheckOpenFiles(CheckReport& report) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string text =
      absl::StrCat(LimitText(limit.rlim_cur), ", hard limit ", LimitText(limit.rlim_max));
  const std::string remedy = absl::StrCat("each connection takes one: raise it to ", kOpenFilesMin,
                                          " (ulimit -n, LimitNOFILE=, --ulimit nofile=)");
  if (limit.rlim_cur >= kOpenFilesMin) {
    report.Ok(kHost, "open files", text);
  } else if (limit.rlim_cur >= kOpenFilesFloor) {
    report.Warn(kHost, "open files", text, remedy);
  } else {
    report.Fail(kHost, "open files", text, remedy);
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
  CheckPort("listen-address", config.listen_address, /*speaks_grpc=*/!config.uses_tls(), report);
  if (config.serves_metrics()) {
    CheckPort("metrics-address", config.metrics_address, /*speaks_grpc=*/false, report);
  }
}

void CheckTls(const Config& config, CheckReport& report) {
  if (!config.uses_tls()) {
    report.Ok(kHost, "TLS", "off");
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
