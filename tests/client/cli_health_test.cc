// `warpfold health` against gRPC's own health service, in the clear and over mutual TLS.
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <memory>
#include <string>

#include "tests/client/fake_service.h"
#include "tests/e2e/certificates.h"
#include "tests/temp_folder.h"

namespace warpfold::client {
namespace {

class CliHealthTest : public testing::Test {
 protected:
  void Serve(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    server_->GetHealthCheckService()->SetServingStatus("up", true);
    server_->GetHealthCheckService()->SetServingStatus("down", false);
  }

  // The exit code of `warpfold health` with `flags`; what it printed goes to out_.
  int Health(const std::string& flags) {
    const std::string command = "'" WARPFOLD_CLI "' --server=127.0.0.1:" + std::to_string(port_) +
                                " health " + flags + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    out_.clear();
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
      out_.append(buffer, n);
    }
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string Write(const std::string& name, const std::string& text) const {
    return folder_.Write(name, text);
  }

  const UniqueTempFolder folder_;
  std::string out_;
  int port_ = 0;
  FakeService service_;  // gRPC serves nothing without a service
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(CliHealthTest, TheExitCodeSaysWhetherTheServiceServes) {
  Serve(grpc::InsecureServerCredentials());
  EXPECT_EQ(Health(""), 0) << out_;
  EXPECT_EQ(out_, "SERVING\n");
  EXPECT_EQ(Health("--service=up --json"), 0) << out_;
  EXPECT_EQ(out_, "{\"status\": \"SERVING\"}\n");
  EXPECT_EQ(Health("--service=down"), 1) << out_;
  EXPECT_EQ(Health("--service=unheard-of"), 1) << out_;
}

TEST_F(CliHealthTest, NobodyThereIsNotHealthyAndNotTriedAgain) {
  Serve(grpc::InsecureServerCredentials());
  server_->Shutdown();
  EXPECT_EQ(Health("--timeout=30"), 1) << out_;
}

TEST_F(CliHealthTest, TheNameInTheCertificateAsksForTls) {
  Serve(grpc::InsecureServerCredentials());
  EXPECT_EQ(Health(""), 0) << out_;
  EXPECT_EQ(Health("--tls-server-name=localhost"), 1) << "the server speaks no TLS";
}

TEST_F(CliHealthTest, MutualTlsNeedsTheFilesThatBelongToIt) {
  const e2e::Authority authority;
  const e2e::KeyAndCertificate own = authority.Issue();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = authority.certificate();
  options.pem_key_cert_pairs.push_back({own.key, own.certificate});
  Serve(grpc::SslServerCredentials(options));
  const e2e::KeyAndCertificate client = authority.Issue();
  const std::string ca = "--tls-ca=" + Write("ca.pem", authority.certificate());
  const std::string name = " --tls-server-name=localhost";
  const std::string cert = " --tls-cert=" + Write("cert.pem", client.certificate);
  const std::string key = " --tls-key=" + Write("key.pem", client.key);
  EXPECT_EQ(Health(ca + name + cert + key), 0) << out_;
  EXPECT_EQ(Health(ca + cert + key), 1) << "the certificate does not name 127.0.0.1";
  EXPECT_EQ(Health(ca + name), 1) << "the server asks for a certificate";
  EXPECT_EQ(Health("--tls" + name + cert + key), 1) << "nobody vouches for the server";
  EXPECT_EQ(Health(ca + name + cert), 2) << out_;
  EXPECT_EQ(Health("--tls-ca=/no/such/file"), 2) << out_;
  const std::string no_certificate = Write("other.pem", client.key);
  const std::string no_key = Write("another.pem", client.certificate);
  EXPECT_EQ(Health("--tls-ca=" + no_certificate), 2) << out_;
  EXPECT_EQ(Health(ca + name + " --tls-cert=" + no_certificate + key), 2) << out_;
  EXPECT_EQ(Health(ca + name + cert + " --tls-key=" + no_key), 2) << out_;
}

}  // namespace
}  // namespace warpfold::client
