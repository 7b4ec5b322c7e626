#include "server/grpc_options.h"

#include <algorithm>
#include <chrono>

#include "server/open_files.h"
#include "server/version.h"

namespace warpfold {
namespace {

ConnectionLimits ConnectionLimitsOf(const Config& config) {
  using Ms = std::chrono::milliseconds;
  return {.connections_max = ConnectionsMaxOf(config),
          .streams_max = config.max_streams_per_connection,
          .handshake_timeout = Ms(config.handshake_timeout_ms),
          .idle_timeout = Ms(config.connection_idle_timeout_ms),
          .age_max = Ms(config.max_connection_age_ms),
          .age_grace = Ms(config.max_connection_age_grace_ms),
          .keepalive = Ms(config.keepalive_ms),
          .keepalive_timeout = Ms(config.keepalive_timeout_ms)};
}

}  // namespace

ConnectionsMax ConnectionsMaxOf(const Config& config) {
  const std::int64_t fit = ConnectionsThatFit(OpenFilesLimit().soft);
  if (config.max_connections <= fit) return {.count = config.max_connections};
  return {.count = fit, .by = "open files"};
}

Limits LimitsOf(const Config& config) {
  Limits limits = config.limits();
  limits.regions.regions_max =
      std::min(limits.regions.regions_max, RegionsThatFit(OpenFilesLimit().soft));
  return limits;
}

GrpcServerOptions GrpcOptionsOf(const Config& config, const Devices& devices, TlsCertificate* tls,
                                SpanSink* spans) {
  GrpcServerOptions options{.listen = config.listen_addresses(),
                            .tls = tls,
                            .takes_compressed = config.compression == Compression::kTaken,
                            .connections = ConnectionLimitsOf(config),
                            .health_watches_max = config.max_health_watches,
                            .reflection_streams_max = config.reflection == Switch::kOn
                                                          ? config.max_reflection_streams
                                                          : 0,
                            .segment_bytes = config.staging_buffer_bytes,
                            .limits = LimitsOf(config),
                            .version = kVersion,
                            .backend = Name(devices.backend),
                            .devices = {},
                            .spans = spans};
  for (const auto& executor : devices.executors) options.devices.push_back(executor->info());
  return options;
}

}  // namespace warpfold
