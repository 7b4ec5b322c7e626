// The server's certificate, and how connections come to use it: TLS, and mutual TLS when clients
// have to show a certificate too.
//
// Step of a request: before 1, at the handshake of its connection. gRPC asks for the certificate at
// every handshake, so one that was loaded meanwhile serves the next connection; those that are open
// keep theirs. What is loaded was checked first: whoever renews the files with something that does
// not fit keeps the certificate in use. Safe from any thread.
#ifndef WARPFOLD_SERVER_FRONTEND_GRPC_TLS_H_
#define WARPFOLD_SERVER_FRONTEND_GRPC_TLS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpc/grpc_security.h"
#include "grpcpp/security/server_credentials.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace warpfold {

// PEM files. Without a certificate there is no TLS; with client_ca, clients have to show a
// certificate that it signed.
struct TlsFiles {
  std::string certificate;  // the server's, then the authorities between it and the root
  std::string private_key;
  std::string client_ca;
};

class TlsCertificate {
 public:
  // INVALID_ARGUMENT, naming the option: a file cannot be read or holds no PEM of its kind, key and
  // certificate do not belong together, or the certificate, or every one of client_ca, is not valid
  // now.
  static absl::StatusOr<std::unique_ptr<TlsCertificate>> Load(const TlsFiles& files);

  // Reads the same files again. On error, as Load's, what was loaded before stays in use.
  absl::Status Reload() ABSL_LOCKS_EXCLUDED(mutex_);

  // When the certificate in use expires.
  absl::Time not_after() const ABSL_LOCKS_EXCLUDED(mutex_);

  // For one port. This object must outlive the server that listens there.
  std::shared_ptr<grpc::ServerCredentials> Credentials() ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for servers that are not gRPC's: the context of one connection, made of what is in
  // use now.
  std::shared_ptr<ssl_ctx_st> Context() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Pem {
    std::string certificate;
    std::string private_key;
    std::string client_ca;
    absl::Time not_after;
    std::shared_ptr<ssl_ctx_st> context;
  };
  // What one port has fetched.
  struct Fetcher {
    TlsCertificate& tls;
    std::int64_t fetched = 0;  // the loading; under the lock
  };

  TlsCertificate(TlsFiles files, Pem pem) : files_(std::move(files)), pem_(std::move(pem)) {}
  static absl::StatusOr<Pem> Read(const TlsFiles& files);
  static grpc_ssl_certificate_config_reload_status Fetch(void* fetcher,
                                                         grpc_ssl_server_certificate_config** out);

  const TlsFiles files_;
  mutable absl::Mutex mutex_;
  Pem pem_ ABSL_GUARDED_BY(mutex_);
  std::int64_t loading_ ABSL_GUARDED_BY(mutex_) = 1;      // how often it was loaded
  std::deque<Fetcher> fetchers_ ABSL_GUARDED_BY(mutex_);  // one a port, whose addresses stay
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_GRPC_TLS_H_
