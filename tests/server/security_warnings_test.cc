// What an operator is told of a server that strangers may use.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/callers_file.h"

namespace warpfold {
namespace {

using Warnings = std::vector<std::string>;

Warnings Of(const Config& config, const std::string& callers = "") {
  CallerTable table;
  if (!callers.empty()) {
    table = *CallerTable::Parse(callers, NamesOf(config.listen_addresses()));
  }
  return SecurityWarnings(config, table);
}

Config At(const std::string& listen, const std::string& metrics = "none") {
  Config config;
  config.listen_address = listen;
  config.metrics_address = metrics;
  return config;
}

TEST(SecurityWarningsTest, NothingIsSaidOfWhatThisHostAloneReaches) {
  for (const char* local : {"127.0.0.1:1", "localhost:1", "[::1]:1", "127.9.9.9:1", "unix:/a",
                            "[::ffff:127.0.0.1]:1"}) {
    EXPECT_EQ(Of(At(local, "127.0.0.1:2")), Warnings()) << local;
  }
}

TEST(SecurityWarningsTest, AnAddressOfOthersWithoutCallersIsOpen) {
  EXPECT_EQ(Of(At("127.0.0.1:1, 0.0.0.0:2, [::]:3")),
            (Warnings{"everyone who reaches 0.0.0.0:2 may call: neither --callers-file nor "
                      "--tls-client-ca is given",
                      "everyone who reaches [::]:3 may call: neither --callers-file nor "
                      "--tls-client-ca is given"}));
  // A name that begins like a loopback address is none.
  EXPECT_EQ(Of(At("127.0.0.1.example.invalid:1")).size(), 1U);
}

TEST(SecurityWarningsTest, SoIsOneThatCallersOpen) {
  EXPECT_EQ(Of(At("0.0.0.0:2, unix:/a"), "caller=anonymous scopes=reduce"),
            Warnings{"everyone who reaches 0.0.0.0:2 may call: as 'anonymous' of --callers-file"});
  EXPECT_EQ(Of(At("0.0.0.0:2, unix:/a"), "caller=b listener=0.0.0.0:2 scopes=reduce"),
            Warnings{"everyone who reaches 0.0.0.0:2 may call: as 'b' of --callers-file"});
  EXPECT_EQ(Of(At("0.0.0.0:2, unix:/a"), "caller=b listener=unix:/a scopes=reduce"), Warnings());
  Config mutual = At("0.0.0.0:2");
  mutual.tls_client_ca = "ca.pem";
  EXPECT_EQ(Of(mutual), Warnings());
}

TEST(SecurityWarningsTest, TokensInTheClearAreNamed) {
  const std::string callers =
      absl::StrCat("caller=a token-sha256=", std::string(64, 'a'), " scopes=reduce");
  Config config = At("0.0.0.0:2", "0.0.0.0:3");
  config.metrics_auth = Switch::kOn;
  EXPECT_EQ(Of(config, callers),
            (Warnings{"tokens come in the clear at 0.0.0.0:2: --tls-cert is not given",
                      "tokens come in the clear at 0.0.0.0:3, for the metrics: --metrics-tls is "
                      "off"}));
  config.tls_cert = "cert.pem";
  config.metrics_tls = Switch::kOn;
  EXPECT_EQ(Of(config, callers), Warnings());
}

TEST(SecurityWarningsTest, OpenMetricsAreNamed) {
  Config config = At("127.0.0.1:1", "0.0.0.0:3");
  EXPECT_EQ(Of(config),
            Warnings{"everyone who reaches 0.0.0.0:3 may read the metrics: --metrics-auth is off"});
  config.metrics_auth = Switch::kOn;
  EXPECT_EQ(Of(config, "caller=anonymous scopes=reduce"), Warnings());
  EXPECT_EQ(Of(config, "caller=anonymous scopes=metrics"),
            Warnings{"everyone who reaches 0.0.0.0:3 may read the metrics: as 'anonymous' of "
                     "--callers-file"});
  config.tls_cert = "cert.pem";
  config.tls_client_ca = "ca.pem";
  EXPECT_EQ(Of(config, "caller=anonymous scopes=metrics").size(), 1);  // in the clear
  config.metrics_tls = Switch::kOn;
  EXPECT_EQ(Of(config, "caller=anonymous scopes=metrics"), Warnings());
}

}  // namespace
}  // namespace warpfold
