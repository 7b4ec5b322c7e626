// SIGHUP: what a running server takes from its configuration, and what it keeps when that is bad.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/channel.h"
#include "tests/e2e/certificates.h"
#include "tests/e2e/served_test.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

constexpr char kTaken[] = "warpfold_config_reloads_total{result=\"ok\"}";
constexpr char kRefused[] = "warpfold_config_reloads_total{result=\"refused\"}";

class ReloadTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }
  std::string Write(const std::string& name, const std::string& text) const {
    return folder_.Write(name, text);
  }
  void Configure(const std::string& text) const { Write("config.toml", text); }
  void Start(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> all{"--config=" + Path("config.toml")};
    all.insert(all.end(), flags.begin(), flags.end());
    server_ = ServerProcess::Start(all, Path("log"));
    ASSERT_NE(server_, nullptr);
  }
  // Sends SIGHUP and waits until `counter` has gone up.
  void Reload(const char* counter) {
    const int port = server_->metrics_port();
    const double before = MetricValue(MetricsPage(port), counter);
    server_->Signal(SIGHUP);
    ASSERT_EQ(AwaitMetric(port, counter, before + 1), before + 1);
  }
  v1::Limits LimitsNow() const {
    Client client(*server_);
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(client.stub().GetServerInfo(&context, {}, &info).ok());
    return info.limits();
  }
  // Waits for a log line with `text`; true when it came.
  bool Logged(const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    do {
      std::ifstream file(Path("log"));
      const std::string log{std::istreambuf_iterator<char>(file), {}};
      if (log.find(text) != std::string::npos) return true;
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  std::unique_ptr<ServerProcess> server_;

 private:
  const UniqueTempFolder folder_;
};

TEST_F(ReloadTest, NewLimitsHoldForTheNextRequest) {
  Configure("max-tensor-bytes = 1000\nmax-requests-in-flight = 10\n");
  Start();
  Client client(*server_);
  v1::ReduceResponse response;
  EXPECT_TRUE(client.Reduce(F32Ones(250), &response).ok());
  EXPECT_EQ(client.Reduce(F32Ones(251), &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  Configure(
      "max-tensor-bytes = 2000\nmax-requests-in-flight = 20\nmax-bytes-in-flight = \"1MiB\"\n");
  Reload(kTaken);
  EXPECT_TRUE(client.Reduce(F32Ones(251), &response).ok());
  EXPECT_EQ(LimitsNow().max_tensor_bytes(), 2000);
  EXPECT_EQ(LimitsNow().max_requests_in_flight(), 20);
  EXPECT_EQ(client.Reduce(F32Ones(501), &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Logged("max-tensor-bytes, max-requests-in-flight, max-bytes-in-flight"));
}

TEST_F(ReloadTest, ABadFileKeepsAllAsItWasAndSaysSo) {
  Configure("max-tensor-bytes = 1000\n");
  Start();
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"max-tensor-bytes = 2000\nmax-tensors = 3\n", "max-tensors"},
           {"max-tensor-bytes = 2000\nqueue-depth-max = 0\n", "queue-depth-max: 0"},
           {"max-tensor-bytes = lots\n", "max-tensor-bytes"},
           {"max-tensor-bytes = 2000\nmax-bytes-in-flight = \"1024TiB\"\n", "memory: "}}) {
    Configure(text);
    Reload(kRefused);
    EXPECT_EQ(LimitsNow().max_tensor_bytes(), 1000) << text;
    EXPECT_TRUE(Logged(said)) << said;
  }
  std::filesystem::remove(Path("config.toml"));
  Reload(kRefused);
  EXPECT_EQ(LimitsNow().max_tensor_bytes(), 1000);
  EXPECT_TRUE(Logged("not reloaded"));
}

// As a file of callers that has none: it would open the server to everyone.
TEST_F(ReloadTest, AServerThatAsksWhoCallsGoesOnAsking) {
  Write("callers", "caller=somebody token-sha256=" + std::string(64, 'a') + " scopes=reduce\n");
  const std::string asks = absl::StrCat("callers-file = \"", Path("callers"), "\"\n");
  Configure(asks);
  Start();
  Client client(*server_);
  v1::ReduceResponse response;
  for (const bool is_lost : {false, true}) {
    if (is_lost) {
      Configure("max-tensor-bytes = 2000\n");
      Reload(kRefused);
      EXPECT_TRUE(Logged("callers-file: is not given any more"));
    }
    EXPECT_EQ(client.Reduce(F32Ones(1), &response).error_code(), grpc::StatusCode::UNAUTHENTICATED)
        << is_lost;
  }
  Configure(asks + "max-tensor-bytes = 2000\n");
  Reload(kTaken);
}

TEST_F(ReloadTest, WhatNeedsARestartIsNamedAndTheRestIsTaken) {
  Configure("workers-per-device = 1\nlog-level = \"error\"\n");
  Start();
  Configure("workers-per-device = 2\nlog-level = \"info\"\nmax-tensor-bytes = 2000\n");
  Reload(kTaken);
  EXPECT_TRUE(Logged("configuration reloaded"));  // as the level is "info" now
  EXPECT_TRUE(Logged("a restart is needed to change options=\"workers-per-device\""));
  EXPECT_EQ(LimitsNow().max_tensor_bytes(), 2000);
  EXPECT_EQ(MetricValue(MetricsPage(server_->metrics_port()), "warpfold_workers{state=\"total\"}"),
            1);
}

// Hashes of "token-of-the-first-one" and "token-of-the-second-one".
constexpr char kFirst[] =
    "caller=first scopes=reduce token-sha256="
    "90260173f2d4ac9ea6aee921c8ad8bba4429f84eb02d9c3ebac9abc133438ac2\n";
constexpr char kSecond[] =
    "caller=second scopes=reduce token-sha256="
    "9bf45c6eb6b045c472a0532f03ed2c8ed7a39fba4af6bc96b2fd9a9b81a68c43\n";

TEST_F(ReloadTest, CallersAreThoseOfTheFileAndAWrongOneChangesNothing) {
  Configure("max-tensor-bytes = 1000\n");
  Write("callers", kFirst);
  Start({"--callers-file=" + Path("callers")});
  EXPECT_TRUE(Logged("callers=1"));
  Client client(*server_);
  const auto code_of = [&client](const std::string& token) {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::ReduceResponse response;
    return client.stub().Reduce(&context, F32Ones(1), &response).error_code();
  };
  EXPECT_EQ(code_of("token-of-the-first-one"), grpc::StatusCode::OK);
  EXPECT_EQ(code_of("token-of-the-second-one"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_of(""), grpc::StatusCode::UNAUTHENTICATED);
  for (const std::string wrong : {"", "caller=first token-of-the-first-one"}) {
    Write("callers", wrong);
    Reload(kRefused);
    EXPECT_EQ(code_of("token-of-the-first-one"), grpc::StatusCode::OK) << wrong;
  }
  EXPECT_TRUE(Logged("line 1: a word has no '='"));
  Write("callers", kSecond);
  Reload(kTaken);
  EXPECT_EQ(code_of("token-of-the-first-one"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_of("token-of-the-second-one"), grpc::StatusCode::OK);
  EXPECT_TRUE(Logged("callers changed added=\"second\" removed=\"first\" changed=\"\""));
  std::string many = kSecond;
  for (int i = 10; i < 27; ++i)
    many += absl::StrCat("caller=c", i, " certificate=", i, " scopes=reduce\n");
  Write("callers", many);
  Reload(kTaken);
  EXPECT_TRUE(Logged("c23, c24, c25 and 1 more\" removed=\"\" changed=\"\""));
}

class TlsReloadTest : public ReloadTest {
 protected:
  void WriteServers(const KeyAndCertificate& issued) const {
    Write("cert.pem", issued.certificate);
    Write("key.pem", issued.key);
  }
  // Whether a new connection that trusts `authority` is served.
  bool Serves(const Authority& authority) const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    const auto stub = v1::ReductionService::NewStub(
        ConnectTo(server_->grpc_port(),
                  grpc::SslCredentials({.pem_root_certs = authority.certificate(),
                                        .pem_private_key = "",
                                        .pem_cert_chain = ""}),
                  arguments));
    grpc::ClientContext context;
    v1::ReduceResponse response;
    return stub->Reduce(&context, F32Ones(3), &response).ok();
  }

  Authority old_;
  Authority new_;
};

TEST_F(TlsReloadTest, ANewCertificateServesTheNextConnectionAndABadOneKeepsTheOld) {
  Configure("");
  WriteServers(old_.Issue());
  Start({"--tls-cert=" + Path("cert.pem"), "--tls-key=" + Path("key.pem")});
  EXPECT_TRUE(Serves(old_));
  EXPECT_FALSE(Serves(new_));

  Write("cert.pem", new_.Issue().certificate);  // not the key's
  Reload(kRefused);
  EXPECT_TRUE(Logged("is not the key of the certificate"));
  EXPECT_TRUE(Serves(old_));
  WriteServers(new_.Issue(-1));  // expired
  Reload(kRefused);
  EXPECT_TRUE(Serves(old_));
  Write("key.pem", "hello");
  Reload(kRefused);
  EXPECT_TRUE(Serves(old_));

  WriteServers(new_.Issue(2));
  Reload(kTaken);
  EXPECT_TRUE(Serves(new_));
  EXPECT_FALSE(Serves(old_));
  const double not_after = MetricValue(MetricsPage(server_->metrics_port()),
                                       "warpfold_tls_certificate_not_after_timestamp_seconds");
  EXPECT_NEAR(not_after, static_cast<double>(time(nullptr)) + 2 * 86400, 3600);
}

// A pipe would be waited for, a folder once ended the process.
TEST_F(ReloadTest, WhatIsNoFileChangesNothing) {
  const Authority authority;
  const KeyAndCertificate pair = authority.Issue();
  Write("cert.pem", pair.certificate);
  Write("key.pem", pair.key);
  Configure("max-requests-in-flight = 10\n");
  Start({"--tls-cert=" + Path("cert.pem"), "--tls-key=" + Path("key.pem")});
  for (const char* const name : {"cert.pem", "key.pem", "config.toml"}) {
    const std::string kept = Path(std::string(name) + ".kept");
    std::filesystem::rename(Path(name), kept);
    std::filesystem::create_directory(Path(name));
    Reload(kRefused);
    EXPECT_TRUE(Logged(Path(name) + " is no regular file"));
    std::filesystem::remove(Path(name));
    ASSERT_EQ(mkfifo(Path(name).c_str(), 0600), 0);
    Reload(kRefused);
    std::filesystem::remove(Path(name));
    std::filesystem::rename(kept, Path(name));
  }
  Configure("max-requests-in-flight = 20\n");
  Reload(kTaken);
}

}  // namespace
}  // namespace warpfold::e2e
