// Where gRPC 1.51 (Debian 12 and 13, Ubuntu 24.04) and later ones (checked with 1.83) differ. All
// else is written for both; only library_log.cc has two halves, too.
#ifndef WARPFOLD_SERVER_FRONTEND_WIRE_GRPC_COMPAT_H_
#define WARPFOLD_SERVER_FRONTEND_WIRE_GRPC_COMPAT_H_

#include <memory>
#include <string>

#include "grpc/grpc.h"
#include "grpc/grpc_security.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/version_info.h"

#define WARPFOLD_GRPC_IS_NEWER_THAN_1_51 (GRPC_CPP_VERSION_MINOR > 51)

#if WARPFOLD_GRPC_IS_NEWER_THAN_1_51
#include "grpcpp/impl/server_callback_handlers.h"
#else
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#endif

namespace warpfold {

inline constexpr bool kGrpcIsNewerThan151 = WARPFOLD_GRPC_IS_NEWER_THAN_1_51 != 0;

// Credentials made by gRPC's core. Takes them: the later base releases what it is given.
class CoreServerCredentials final : public grpc::ServerCredentials {
 public:
#if WARPFOLD_GRPC_IS_NEWER_THAN_1_51
  explicit CoreServerCredentials(grpc_server_credentials* credentials)
      : grpc::ServerCredentials(credentials) {}
#else
  explicit CoreServerCredentials(grpc_server_credentials* credentials)
      : credentials_(credentials) {}
  ~CoreServerCredentials() override { grpc_server_credentials_release(credentials_); }
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* const credentials_;
#endif
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_WIRE_GRPC_COMPAT_H_
