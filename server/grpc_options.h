// What of the configuration the gRPC server takes.
#ifndef WARPFOLD_SERVER_GRPC_OPTIONS_H_
#define WARPFOLD_SERVER_GRPC_OPTIONS_H_

#include "server/config.h"
#include "server/core/base/limits.h"
#include "server/device/backend/backend.h"
#include "server/frontend/grpc/acceptor.h"
#include "server/frontend/grpc/grpc_server.h"
#include "server/frontend/grpc/tls.h"

namespace warpfold {

// Of the configuration, and what the descriptors leave of it.
Limits LimitsOf(const Config& config);
ConnectionsMax ConnectionsMaxOf(const Config& config);

// `tls` outlives the server; null: no TLS.
GrpcServerOptions GrpcOptionsOf(const Config& config, const Devices& devices, TlsCertificate* tls,
                                SpanSink* spans);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_GRPC_OPTIONS_H_
