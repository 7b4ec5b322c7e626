#include "server/server.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/callers_file.h"
#include "server/config_options.h"
#include "server/device/host_bytes.h"
#include "server/drain_connections.h"
#include "server/grpc_options.h"
#include "server/observe/gpu/gpu_metrics.h"
#include "server/observe/metrics/occupancy.h"
#include "server/observe/metrics/process_metrics.h"
#include "server/observe/trace/span_collector.h"
#include "server/port_file.h"
#include "server/probe.h"
#include "server/send_spans.h"
#include "server/startup.h"
#include "server/system/listen_port.h"
#include "server/system/nvml.h"
#include "server/thread_limit.h"
#include "server/version.h"

namespace warpfold {
namespace {

TlsFiles TlsFilesOf(const Config& config) {
  return {.certificate = config.tls_cert,
          .private_key = config.tls_key,
          .client_ca = config.tls_client_ca};
}

}  // namespace

Server::Server(const Config& config, Log& log, OnUseless on_useless, Devices devices)
    : config_(config),
      log_(log),
      on_useless_(std::move(on_useless)),
      devices_(std::move(devices)),
      devices_left_(static_cast<int>(devices_.executors.size())),
      admission_({.max_requests_in_flight = config.max_requests_in_flight,
                  .max_bytes_in_flight = config.max_bytes_in_flight}),
      tensors_(devices_.executors, LimitsOf(config).resident),
      tensor_sweeper_(tensors_),
      regions_(devices_.executors, LimitsOf(config).regions),
      metrics_({.version = kVersion, .backend = Name(devices_.backend), .compiler = kCompiler}),
      access_log_(log, config.access_log_options()),
      page_guard_(log),
      connection_log_(log) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, Log& log,
                                                      OnUseless on_useless) {
  absl::StatusOr<Devices> devices = OpenDevices(config.backend, config.worker_options());
  if (!devices.ok()) return devices.status();
  return Start(config, log, std::move(on_useless), *std::move(devices));
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, Log& log,
                                                      OnUseless on_useless, Devices devices) {
  for (const std::unique_ptr<Executor>& executor : devices.executors) {
    log.Write(LogLevel::kInfo, "device",
              {{"backend", Name(devices.backend)},
               {"reason", devices.reason},
               {"name", executor->info().name},
               {"model", executor->info().model}});
  }
  for (const LeftOut& gpu : devices.left_out) {
    log.Write(LogLevel::kWarning, "device left out", {{"name", gpu.name}, {"status", gpu.why}});
  }
  std::unique_ptr<Server> server(
      new Server(config, log, std::move(on_useless), std::move(devices)));
  if (absl::Status status = server->StartParts(); !status.ok()) return status;
  return server;
}

MemoryPlan Server::PlanOf(const Config& config) const {
  return MemoryPlan(config, devices_.backend, static_cast<int>(devices_.executors.size()));
}

void Server::TakeMemoryBudget() {
  HostBudget::OfProcess().SetLimit(PlanOf(config_).LeftForRequests(memory_limit_));
}

void Server::StartMemoryWatch() {
  constexpr std::chrono::milliseconds kInterval{250};
  memory_watch_ = std::make_unique<MemoryWatch>(
      MemoryWatch::Parts{.limit_bytes = memory_limit_.bytes,
                         .read_used = [this] { return ReadUsedMemory(memory_limit_); },
                         .give_back = GiveBackFreeMemory,
                         .on_change =
                             [this](Pressure pressure, std::int64_t used_bytes) {
                               admission_.SetPressure(pressure);
                               const bool is_over = pressure == Pressure::kNone;
                               log_.Write(is_over ? LogLevel::kInfo : LogLevel::kWarning,
                                          "memory pressure",
                                          {{"level", static_cast<int>(pressure)},
                                           {"used_bytes", used_bytes},
                                           {"limit_bytes", memory_limit_.bytes}});
                             }},
      kInterval);
}

absl::Status Server::StartParts() {
  const MemoryPlan plan = PlanOf(config_);
  if (absl::Status fits = plan.Fits(memory_limit_); !fits.ok()) return fits;
  TakeMemoryBudget();
  log_.Write(LogLevel::kInfo, "memory",
             {{"limit_bytes", memory_limit_.bytes},
              {"source", memory_limit_.source},
              {"set_aside", plan.Sum()},
              {"left_bytes", plan.LeftForRequests(memory_limit_)}});
  StartMemoryWatch();
  const int workers =
      static_cast<int>(devices_.executors.size()) * config_.workers(devices_.backend);
  if (absl::Status status = TryThreads(ThreadsNeeded(workers)); !status.ok()) return status;
  if (absl::Status status = LoadTls(); !status.ok()) return status;
  absl::StatusOr<CallerTable> callers =
      ReadCallers(config_.callers_file, config_.listen_addresses());
  if (!callers.ok()) return callers.status();
  SayWhoMayCall(config_, *callers, log_);
  if (absl::Status status = StartScheduler(); !status.ok()) return status;
  spans_ = SendSpans(config_.otlp_endpoint, log_);
  // Until MakeReady: no client ever meets a device that has not given the known bits.
  admission_.HoldBack("loading kernels");
  if (absl::Status status = StartGrpc(*std::move(callers)); !status.ok()) return status;
  if (absl::Status status = StartMetrics(); !status.ok()) return status;
  log_.Write(LogLevel::kInfo, "starting",
             {{"version", kVersion},
              {"listen", ListenText()},
              {"grpc_port", grpc_port()},
              {"metrics_port", metrics_port()}});
  return absl::OkStatus();
}

std::string Server::ListenText() const { return absl::StrJoin(NamesOf(grpc_->addresses()), ", "); }

absl::Status Server::MakeReady(const std::function<bool()>& stop_requested) {
  absl::Status status = MakeDevicesReady({.executors = devices_.executors,
                                          .scheduler = *scheduler_,
                                          .admission = admission_,
                                          .log = log_,
                                          .stop_requested = stop_requested});
  if (!status.ok()) return status;
  starting_ = false;
  // One that was lost in this moment: OnDeviceLost may have found starting_ still set.
  if (!has_device()) return absl::UnavailableError("no device is left");
  if (absl::Status probe = StartSelfProbe(); !probe.ok()) return probe;
  admission_.Open();
  ready_ = true;
  grpc_->StartServing();
  if (!config_.port_file.empty()) {
    const absl::Status written = WritePortFile(config_.port_file, grpc_port(), metrics_port());
    if (!written.ok()) return written;
  }
  log_.Write(LogLevel::kInfo, "serving",
             {{"version", kVersion},
              {"listen", ListenText()},
              {"grpc_port", grpc_port()},
              {"metrics_port", metrics_port()},
              {"workers_per_device", config_.workers(devices_.backend)}});
  return absl::OkStatus();
}

absl::Status Server::StartScheduler() {
  // A CPU's workers need the processors to compute.
  const bool spins = devices_.backend == Backend::kCuda;
  absl::StatusOr<std::unique_ptr<Scheduler>> scheduler =
      Scheduler::Create(devices_.executors,
                        {.workers = config_.workers(devices_.backend),
                         .batch_workers = config_.batch_workers,
                         .queue_depth_max = config_.queue_depth_max,
                         .spin_max = std::chrono::microseconds(spins ? config_.spin_us : 0),
                         .on_lost = [this](const DeviceInfo& device,
                                           const absl::Status& why) { OnDeviceLost(device, why); },
                         .on_batch = [this](int requests) { metrics_.CountBatch(requests); }});
  if (!scheduler.ok()) return scheduler.status();
  scheduler_ = *std::move(scheduler);
  return absl::OkStatus();
}

absl::Status Server::StartMetrics() {
  if (!config_.serves_metrics()) return absl::OkStatus();
  const ProbedParts parts{.devices = devices_,
                          .admission = admission_,
                          .scheduler = *scheduler_,
                          .tensors = tensors_,
                          .regions = regions_,
                          .log = log_,
                          .memory_limit = memory_limit_,
                          .memory_watch = *memory_watch_,
                          .tls = tls_.get(),
                          .acceptor = grpc_->acceptor()};
  auto occupancy = std::make_shared<OccupancyCollector>([this, parts] {
    Occupancy now = Probe(parts);
    now.ready = ready_ && reachable_ && has_device();
    now.self_probes = static_cast<double>(self_probes_.load());
    now.self_probe_failures = static_cast<double>(self_probe_failures_.load());
    return now;
  });
  std::vector<std::shared_ptr<prometheus::Collectable>> pages{metrics_.registry(), occupancy,
                                                              std::make_shared<ProcessCollector>()};
  if (spans_ != nullptr) pages.push_back(std::make_shared<SpanCollector>(*spans_));
  absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open();
  if (nvml.ok()) {
    pages.push_back(std::make_shared<GpuCollector>(*std::move(nvml)));
  } else {
    log_.Write(LogLevel::kDebug, "no GPU metrics", {{"status", nvml.status().message()}});
  }
  // The page's server does not say who holds a port.
  const HostPort address = *ParseHostPort(config_.metrics_address);
  if (absl::Status free = Listen("metrics-address", address).status(); !free.ok()) return free;
  MetricsServerOptions options{.address = config_.metrics_address};
  if (config_.metrics_tls == Switch::kOn) options.tls_context = [this] { return tls_->Context(); };
  if (config_.metrics_auth == Switch::kOn) {
    options.access = [this](const ShownIdentity& shown) {
      return page_guard_.AccessOf(grpc_->callers(), shown);
    };
  }
  absl::StatusOr<std::unique_ptr<MetricsServer>> metrics_server =
      MetricsServer::Start(std::move(options), std::move(pages));
  if (!metrics_server.ok()) return metrics_server.status();
  metrics_server_ = *std::move(metrics_server);
  return absl::OkStatus();
}

absl::Status Server::LoadTls() {
  if (!config_.uses_tls()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<TlsCertificate>> tls = TlsCertificate::Load(TlsFilesOf(config_));
  if (!tls.ok()) return tls.status();
  tls_ = *std::move(tls);
  return absl::OkStatus();
}

Admitted Server::Admit(CallerTable callers) const {
  std::vector<std::string> warnings = SecurityWarnings(config_, callers);
  return {std::move(callers), std::move(warnings)};
}

absl::Status Server::StartGrpc(CallerTable callers) {
  GrpcServerOptions options = GrpcOptionsOf(config_, devices_, tls_.get(), spans_.get());
  options.on_connection_refused = [this](const std::string& peer, const absl::Status& why) {
    connection_log_.SayRefused(peer, why);
  };
  absl::StatusOr<std::unique_ptr<GrpcServer>> grpc =
      GrpcServer::Start(options, Admit(std::move(callers)), admission_, *scheduler_, tensors_,
                        regions_, metrics_, access_log_);
  if (!grpc.ok()) return grpc.status();
  grpc_ = *std::move(grpc);
  connection_log_.SayMax(config_);
  return absl::OkStatus();
}

absl::Status Server::StartSelfProbe() {
  const std::chrono::milliseconds patience(config_.exit_when_unready_ms);
  absl::StatusOr<std::unique_ptr<SelfProbe>> self_probe = SelfProbe::Start(
      {.addresses = grpc_->bound(),
       .uses_tls = config_.uses_tls(),
       .before_connect = [this](const SocketAddress& own) { grpc_->acceptor().ExpectOwn(own); },
       .on_probe = [this, patience](const absl::Status& probed,
                                    const Reach& reach) { OnSelfProbe(probed, reach, patience); }});
  if (!self_probe.ok()) return self_probe.status();
  self_probe_ = *std::move(self_probe);
  return absl::OkStatus();
}

// The probe's thread, which StopServing waits for: nobody else says meanwhile that it serves.
void Server::OnSelfProbe(const absl::Status& probed, const Reach& reach,
                         std::chrono::milliseconds patience) {
  ++self_probes_;
  if (!probed.ok()) ++self_probe_failures_;
  if (reach.reachable() != reachable_) {
    reachable_ = reach.reachable();
    if (reachable_) {
      log_.Write(LogLevel::kInfo, "ready again: new clients reach the server");
      grpc_->StartServing();
    } else {
      log_.Write(LogLevel::kError, "not ready: new clients do not reach the server",
                 {{"status", probed.message()}});
      grpc_->StopServing();
    }
  }
  const bool gives_up = patience.count() > 0 && !reachable_ && reach.failed_for() >= patience;
  if (!gives_up || is_deaf_.exchange(true)) return;
  log_.Write(LogLevel::kError, "ending: new clients have not reached the server for too long",
             {{"exit_when_unready_ms", patience.count()},
              {"failed_for_ms", reach.failed_for().count()},
              {"status", probed.message()}});
  on_useless_();
}

// The owner's thread is told and stops the server: this is a worker's, which the server waits for.
void Server::OnDeviceLost(const DeviceInfo& device, const absl::Status& why) {
  tensors_.DropDevice(device);
  const int left = devices_left_.fetch_sub(1) - 1;
  const bool starting = starting_;
  log_.Write(LogLevel::kError, starting ? "device left out" : "device lost",
             {{"name", device.name}, {"status", why.message()}, {"devices_left", left}});
  if (left == 0 && !starting) on_useless_();  // the start itself fails
}

bool Server::has_device() const { return devices_left_ > 0; }

void Server::Reload(const absl::StatusOr<Config>& next) {
  absl::Status status = next.ok() ? PlanOf(*next).Fits(memory_limit_) : next.status();
  // As a file without callers is refused: a key that is lost must not open the server to all.
  if (status.ok() && next->callers_file.empty() && !config_.callers_file.empty()) {
    status = absl::InvalidArgumentError(
        "callers-file: is not given any more, and nobody would be asked who they are; a restart "
        "takes it away");
  }
  absl::StatusOr<CallerTable> callers;
  if (status.ok()) callers = ReadCallers(next->callers_file, config_.listen_addresses());
  if (status.ok()) status = callers.status();
  if (status.ok() && tls_ != nullptr) status = tls_->Reload();
  metrics_.CountReload(status.ok());
  if (!status.ok()) {
    log_.Write(LogLevel::kError, "configuration not reloaded: all stays as it was",
               {{"status", status.message()}});
    return;
  }
  const std::string changed = absl::StrJoin(Differing(config_, *next, Change::kOnReload), ", ");
  const std::string fixed = absl::StrJoin(Differing(config_, *next, Change::kAtStart), ", ");
  TakeReloadable(*next, config_);
  TakeLimits();
  SayWhoMayCall(config_, *callers, log_);
  SayWhoChanged(callers->Since(grpc_->callers()), log_);
  grpc_->SetAdmitted(Admit(*std::move(callers)));
  access_log_.SetOptions(config_.access_log_options());
  log_.SetLevel(config_.log_level);
  log_.Write(LogLevel::kInfo, "configuration reloaded", {{"changed", changed}});
  if (!fixed.empty()) {
    log_.Write(LogLevel::kWarning, "a restart is needed to change", {{"options", fixed}});
  }
}

void Server::TakeLimits() {
  TakeMemoryBudget();
  const Limits limits = LimitsOf(config_);
  admission_.SetLimits(config_.max_requests_in_flight, config_.max_bytes_in_flight);
  scheduler_->SetQueueDepthMax(config_.queue_depth_max);
  tensors_.SetLimits(limits.resident);
  regions_.SetLimits(limits.regions);
  grpc_->SetLimits(limits);
  grpc_->acceptor().SetConnectionsMax(ConnectionsMaxOf(config_));
  connection_log_.SayMax(config_);
}

void Server::StopServing() {
  self_probe_ = nullptr;
  ready_ = false;
  grpc_->StopServing();
}

void Server::Drain() {
  const auto start = std::chrono::steady_clock::now();
  log_.Write(LogLevel::kInfo, "draining", {{"drain_timeout_ms", config_.drain_timeout_ms}});
  StopServing();
  admission_.Close();
  const std::chrono::milliseconds timeout(config_.drain_timeout_ms);
  {
    absl::Notification ended;
    const std::jthread at_last([this, &ended, timeout] {
      EndConnectionsOfDrain(timeout, ended, {admission_, grpc_->acceptor(), log_});
    });
    grpc_->Shutdown(timeout);
    ended.Notify();
  }
  scheduler_->Drain();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  log_.Write(LogLevel::kInfo, "drained", {{"took_ms", took.count()}});
}

}  // namespace warpfold
