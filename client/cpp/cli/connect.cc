// How every command reaches the server: ServerFlags to a Client, with or without TLS.
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/cli/commands.h"
#include "client/cpp/small_file.h"
#include "client/cpp/token.h"

namespace warpfold::client {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (text.ok() && text->empty()) return absl::NotFoundError(absl::StrCat(path, ": is empty"));
  return text;
}

// The PEM block `block` ends with "CERTIFICATE" or "PRIVATE KEY". gRPC would say no more of a file
// without one than that the server cannot be reached.
absl::StatusOr<std::string> ReadPem(const char* option, const std::string& path,
                                    absl::string_view block) {
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok() || path.empty() || absl::StrContains(*text, absl::StrCat(block, "-----"))) {
    return text;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": ", path, ": holds no PEM ", absl::AsciiStrToLower(block)));
}

}  // namespace

absl::StatusOr<ConnectionOptions> ConnectionOptionsOf(const ServerFlags& flags) {
  ConnectionOptions options;
  if (!flags.token_file.empty()) {
    absl::StatusOr<std::string> token = ReadToken(flags.token_file);
    if (!token.ok()) {
      return absl::Status(token.status().code(),
                          absl::StrCat("--token-file: ", token.status().message()));
    }
    options.token = *std::move(token);
  }
  if (!flags.uses_tls()) return options;
  if (flags.tls_cert.empty() != flags.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key go together");
  }
  grpc::SslCredentialsOptions ssl;
  for (const auto& [option, path, block, text] :
       {std::tuple("--tls-ca", &flags.tls_ca, "CERTIFICATE", &ssl.pem_root_certs),
        std::tuple("--tls-cert", &flags.tls_cert, "CERTIFICATE", &ssl.pem_cert_chain),
        std::tuple("--tls-key", &flags.tls_key, "PRIVATE KEY", &ssl.pem_private_key)}) {
    absl::StatusOr<std::string> pem = ReadPem(option, *path, block);
    if (!pem.ok()) return pem.status();
    *text = *std::move(pem);
  }
  options.credentials = grpc::SslCredentials(ssl);
  options.tls_server_name = flags.tls_server_name;
  return options;
}

std::chrono::milliseconds TimeoutOf(const ServerFlags& flags) {
  return std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::duration<double>(flags.timeout_s));
}

absl::StatusOr<std::unique_ptr<Client>> ConnectTo(const ServerFlags& flags, int connections) {
  absl::StatusOr<ConnectionOptions> connection = ConnectionOptionsOf(flags);
  if (!connection.ok()) return connection.status();
  ClientOptions options;
  options.connection = *std::move(connection);
  options.timeout = TimeoutOf(flags);
  options.connections = connections;
  options.required_numerics_version = flags.numerics_version;
  return Client::Connect(flags.server, options);
}

}  // namespace warpfold::client
