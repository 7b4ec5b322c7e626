// TLS and mutual TLS: who gets in, and what the server says about files that do not fit.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/channel.h"
#include "tests/e2e/certificates.h"
#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    Write("client-ca.pem", clients_.certificate());
    WriteServers(servers_.Issue());
  }
  std::string Path(const std::string& name) const { return folder_.Path(name); }
  void Write(const std::string& name, const std::string& text) const { folder_.Write(name, text); }
  void WriteServers(const KeyAndCertificate& issued) const {
    Write("cert.pem", issued.certificate);
    Write("key.pem", issued.key);
  }
  std::vector<std::string> Flags(bool mutual) const {
    std::vector<std::string> flags{"--tls-cert=" + Path("cert.pem"),
                                   "--tls-key=" + Path("key.pem")};
    if (mutual) flags.push_back("--tls-client-ca=" + Path("client-ca.pem"));
    return flags;
  }

  // The code of one request on a new connection.
  static grpc::StatusCode Ask(const ServerProcess& server,
                              const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    const auto stub =
        v1::ReductionService::NewStub(ConnectTo(server.grpc_port(), credentials, arguments));
    grpc::ClientContext context;
    v1::ReduceResponse response;
    return stub->Reduce(&context, F32Ones(3), &response).error_code();
  }
  static std::shared_ptr<grpc::ChannelCredentials> Trusting(const Authority& authority,
                                                            const KeyAndCertificate& own = {}) {
    return grpc::SslCredentials({.pem_root_certs = authority.certificate(),
                                 .pem_private_key = own.key,
                                 .pem_cert_chain = own.certificate});
  }

  Authority servers_;
  Authority clients_;
  Authority strangers_;

 private:
  const UniqueTempFolder folder_;
};

TEST_F(TlsTest, ServesThoseWhoTrustItsCertificateAndNobodyInTheClear) {
  const auto server = ServerProcess::Start(Flags(/*mutual=*/false));
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Ask(*server, Trusting(servers_)), grpc::StatusCode::OK);
  EXPECT_EQ(Ask(*server, Trusting(strangers_)), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(*server, grpc::InsecureChannelCredentials()), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, MutualTlsServesOnlyClientsWithACertificateOfTheirAuthority) {
  const auto server = ServerProcess::Start(Flags(/*mutual=*/true));
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Ask(*server, Trusting(servers_, clients_.Issue())), grpc::StatusCode::OK);
  EXPECT_EQ(Ask(*server, Trusting(servers_)), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(*server, Trusting(servers_, strangers_.Issue())), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(*server, Trusting(servers_, clients_.Issue(-1))), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, ACertificatesNameIsACaller) {
  const auto asked_by = [this](const std::string& line) {
    Write("callers", line);
    std::vector<std::string> flags = Flags(/*mutual=*/true);
    flags.push_back("--callers-file=" + Path("callers"));
    const auto server = ServerProcess::Start(flags);
    return server == nullptr ? grpc::StatusCode::UNKNOWN
                             : Ask(*server, Trusting(servers_, clients_.Issue()));
  };
  EXPECT_EQ(asked_by("caller=a certificate=localhost scopes=reduce"), grpc::StatusCode::OK);
  EXPECT_EQ(asked_by("caller=a certificate=localhost scopes=memory"),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(asked_by("caller=a certificate=Localhost scopes=reduce"),
            grpc::StatusCode::UNAUTHENTICATED);
  // One that is signed and has no line is nobody's, or anonymous.
  EXPECT_EQ(asked_by("caller=anonymous scopes=reduce"), grpc::StatusCode::OK);
}

TEST_F(TlsTest, FilesThatDoNotFitEndTheStartWithTheNameOfTheOption) {
  const auto refused = [this](const std::string& option, const std::string& what) {
    std::vector<std::string> flags = Flags(/*mutual=*/true);
    flags.insert(flags.end(), {"--listen-address=127.0.0.1:0", "--metrics-address=none"});
    std::string errors;
    EXPECT_EQ(RunServerBinary(flags, &errors), 1);
    EXPECT_NE(errors.find(option + ": "), std::string::npos) << errors;
    EXPECT_NE(errors.find(what), std::string::npos) << errors;
  };
  Write("key.pem", servers_.Issue().key);
  refused("tls-key", "is not the key of the certificate");
  WriteServers(servers_.Issue(-1));
  refused("tls-cert", "has expired");
  Write("cert.pem", "hello");
  refused("tls-cert", "holds no PEM certificate");
  WriteServers(servers_.Issue());
  Write("client-ca.pem", servers_.Issue().key);
  refused("tls-client-ca", "holds no PEM certificate");
  Write("client-ca.pem", Authority(-1).certificate());
  refused("tls-client-ca", "has expired: it was valid until ");
  WriteServers(servers_.Issue(/*days=*/400, /*from_days=*/2));
  refused("tls-cert", "is not valid before ");
  std::filesystem::remove(Path("key.pem"));
  refused("tls-key", "cannot be read: No such file or directory");
  Write("key.pem", "");
  refused("tls-key", "is empty");
  std::filesystem::remove(Path("key.pem"));
  std::filesystem::create_directory(Path("key.pem"));
  refused("tls-key", "is no regular file");
}

TEST_F(TlsTest, OneAuthorityOfAFileThatIsValidNowIsEnough) {
  WriteServers(servers_.Issue());
  Write("client-ca.pem", Authority(-1).certificate() + clients_.certificate());
  const auto server = ServerProcess::Start(Flags(/*mutual=*/true));
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Ask(*server, Trusting(servers_, clients_.Issue())), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace warpfold::e2e
