#include "server/config.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/config_options.h"
#include "server/observe/trace/otlp.h"
#include "server/option_text.h"
#include "tests/server/read_config.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

TEST(ConfigTest, DefaultsAreValid) {
  const absl::StatusOr<Config> config = Read({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_message_bytes, 64 << 20);
  EXPECT_EQ(config->limits().stream_idle_timeout.count(), 30000);
  // Whoever reaches a port may call.
  EXPECT_EQ(config->listen_address, "127.0.0.1:50051");
  EXPECT_EQ(config->metrics_address, "127.0.0.1:9464");
}

TEST(ConfigTest, BytesTakeUnits) {
  EXPECT_EQ(Read({"--staging-buffer-bytes=1MiB"})->staging_buffer_bytes, 1 << 20);
  EXPECT_EQ(Read({"--staging-buffer-bytes", "65536"})->staging_buffer_bytes, 65536);
  EXPECT_EQ(Read({"--staging-buffer-bytes", "0065536"})->staging_buffer_bytes, 65536);
  EXPECT_EQ(Read({"--max-resident-bytes=0"})->max_resident_bytes, 0);
  EXPECT_EQ(Read({"--max-resident-bytes=00KiB"})->max_resident_bytes, 0);
}

TEST(ConfigTest, ASizeIsANumberAndPerhapsAUnit) {
  for (const char* const flag : {"--staging-buffer-bytes=MiB", "--staging-buffer-bytes=-1MiB",
                                 "--staging-buffer-bytes=0x10000", "--staging-buffer-bytes=1.5MiB",
                                 "--staging-buffer-bytes=1MiB1"}) {
    const std::string refusal = Refusal({flag});
    EXPECT_NE(refusal.find("is no size"), std::string::npos) << refusal;
  }
}

TEST(ConfigTest, SpansGoToACollectorByHttpWhereTheBuildHasTheLibrary) {
  if (HasOtlp()) {
    EXPECT_EQ(Read({"--otlp-endpoint=http://collector:4318"})->otlp_endpoint,
              "http://collector:4318");
    EXPECT_EQ(Refusal({"--otlp-endpoint=collector:4317"}),
              "otlp-endpoint: 'collector:4317' is no URL of http or https");
  } else {
    EXPECT_EQ(Refusal({"--otlp-endpoint=http://collector:4318"}),
              "otlp-endpoint: this server was built without opentelemetry-cpp");
  }
}

TEST(ConfigTest, NumbersAreDecimal) {
  EXPECT_EQ(Read({"--workers-per-device=010"})->workers_per_device, 10);
  EXPECT_EQ(Read({"--drain-delay-ms=0"})->drain_delay_ms, 0);
  EXPECT_EQ(Refusal({"--workers-per-device=0x10"}),
            "workers-per-device: '0x10' is no whole number");
}

TEST(ConfigTest, LimitsOfConnectionsHaveRanges) {
  EXPECT_EQ(Read({"--reflection=OFF"})->reflection, Switch::kOff);
  EXPECT_EQ(Refusal({"--reflection=0"}), "reflection: '0' is none of off|on");
  EXPECT_EQ(Read({"--connection-idle-timeout-ms=0"})->connection_idle_timeout_ms, 0);
  for (const char* const flag :
       {"--max-streams-per-connection=0", "--handshake-timeout-ms=0", "--keepalive-ms=999",
        "--keepalive-timeout-ms=0", "--connection-idle-timeout-ms=-1", "--max-connection-age-ms=-1",
        "--max-connection-age-grace-ms=0", "--max-reflection-streams=0"}) {
    EXPECT_NE(Refusal({flag}).find("is not between"), std::string::npos) << flag;
  }
}

TEST(ConfigTest, ARefusedValueSaysWhereItComesFrom) {
  const UniqueTempFolder folder;
  const std::string file = folder.Write("config.toml", "workers-per-device = abc\n");
  EXPECT_EQ(Refusal({"--workers-per-device=abc"}), "workers-per-device: 'abc' is no whole number");
  EXPECT_EQ(Refusal({"--workers-per-device", "abc"}),
            "workers-per-device: 'abc' is no whole number");
  EXPECT_EQ(Refusal({"--config", file.c_str()}),
            "workers-per-device: 'abc' is no whole number (in " + file + ")");
  EXPECT_EQ(Refusal({"--workers-per-device=1", "--workers-per-device=2"}),
            "workers-per-device: is given more than once");
  EXPECT_EQ(Refusal({"--workers-per-device"}), "workers-per-device: needs a value");
  setenv("WARPFOLD_WORKERS_PER_DEVICE", "many", 1);
  EXPECT_EQ(Refusal({}),
            "workers-per-device: 'many' is no whole number (in WARPFOLD_WORKERS_PER_DEVICE)");
  unsetenv("WARPFOLD_WORKERS_PER_DEVICE");
}

// Values that are wrong beside others, too.
TEST(ConfigTest, ARefusedAddressSaysWhereItComesFrom) {
  const UniqueTempFolder folder;
  const std::string wrong = "listen-address: 'a' is no host:port with a port of 0 to 65535";
  const std::string file = folder.Write("config.toml", "listen-address = 'a'\n");
  EXPECT_EQ(Refusal({"--listen-address=a"}), wrong);
  EXPECT_EQ(Refusal({"--config", file.c_str()}), wrong + " (in " + file + ")");
  setenv("WARPFOLD_LISTEN_ADDRESS", "a", 1);
  EXPECT_EQ(Refusal({}), wrong + " (in WARPFOLD_LISTEN_ADDRESS)");
  EXPECT_EQ(Refusal({"--listen-address=a"}), wrong);
  unsetenv("WARPFOLD_LISTEN_ADDRESS");
  setenv("WARPFOLD_METRICS_ADDRESS", "127.0.0.1:50051", 1);
  EXPECT_EQ(Refusal({}),
            "metrics-address: '127.0.0.1:50051' is the port of listen-address (in "
            "WARPFOLD_METRICS_ADDRESS)");
  unsetenv("WARPFOLD_METRICS_ADDRESS");
  setenv("WARPFOLD_TLS_CERT", "a.pem", 1);
  EXPECT_EQ(Refusal({}), "tls-key: goes with tls-cert, and one of them is missing");
  unsetenv("WARPFOLD_TLS_CERT");
}

TEST(ConfigTest, ARefusedValueSaysWhatWouldBeTaken) {
  EXPECT_EQ(Refusal({"--backend=abacus"}), "backend: 'abacus' is none of auto|cpu|cuda");
  EXPECT_EQ(Refusal({"--backend=1"}), "backend: '1' is none of auto|cpu|cuda");
  EXPECT_EQ(Refusal({"--log-level=loud"}), "log-level: 'loud' is none of debug|error|info|warning");
  EXPECT_EQ(
      Refusal({"--staging-buffer-bytes=4XB"}),
      "staging-buffer-bytes: '4XB' is no size: a whole number of bytes, or of KiB, MiB, GiB, TiB");
  EXPECT_EQ(Refusal({"--workers-per-device=10000000000"}),
            "workers-per-device: 10000000000 is not between 0 and 1024");
  EXPECT_EQ(Refusal({"--strems=3"}), "The following argument was not expected: --strems=3");
}

TEST(ConfigTest, ChoicesAreTakenInAnyCase) {
  EXPECT_EQ(Read({"--backend=CUDA"})->backend, Backend::kCuda);
  EXPECT_EQ(Read({"--log-level=warning"})->log_level, LogLevel::kWarning);
}

TEST(ConfigTest, ARefusalStartsWithTheOption) {
  const std::vector<std::pair<const char*, std::string>> bad = {
      {"--listen-address=127.0.0.1:70000", "listen-address: "},
      {"--listen-address=localhost", "listen-address: "},
      {"--listen-address=[::1]:", "listen-address: "},
      {"--listen-address=::1", "listen-address: "},
      {"--listen-address=localhost:+1", "listen-address: "},
      {"--metrics-address=127.0.0.1:-1", "metrics-address: "},
      {"--metrics-address=:65536", "metrics-address: "},
      {"--listen-address=:50051", "listen-address: "},
      {"--metrics-address=:9464", "metrics-address: "},
      {"--staging-buffer-bytes=65537", "staging-buffer-bytes: "},
      {"--staging-buffer-bytes=0", "staging-buffer-bytes: "},
      {"--staging-buffers-per-worker=1", "staging-buffers-per-worker: "},
      {"--workers-per-device=-1", "workers-per-device: "},
      {"--scratch-bytes=0", "scratch-bytes: "},
      {"--max-tensor-bytes=0", "max-tensor-bytes: "},
      {"--max-message-bytes=2GiB", "max-message-bytes: "},
      {"--max-result-bytes=0", "max-result-bytes: "},
      {"--max-requests-in-flight=0", "max-requests-in-flight: "},
      {"--max-bytes-in-flight=1", "max-bytes-in-flight: "},
      {"--queue-depth-max=0", "queue-depth-max: "},
      {"--stream-idle-timeout-ms=0", "stream-idle-timeout-ms: "},
      {"--drain-timeout-ms=-1", "drain-timeout-ms: "},
      {"--tls-cert=a.pem", "tls-key: "},
      {"--tls-key=a.pem", "tls-key: "},
      {"--tls-client-ca=a.pem", "tls-client-ca: "},
      {"--resident-ttl-ms=86400001", "resident-ttl-ms: "},
  };
  for (const auto& [flag, start] : bad) {
    const std::string refusal = Refusal({flag});
    EXPECT_EQ(refusal.rfind(start, 0), 0U) << refusal;
  }
}

TEST(ConfigTest, TheTwoAddressesCannotShareAPort) {
  for (const char* const metrics : {"0.0.0.0:50051", "127.0.0.1:50051", "[::]:50051"}) {
    const std::string flag = std::string("--metrics-address=") + metrics;
    EXPECT_EQ(Refusal({flag.c_str()}),
              std::string("metrics-address: '") + metrics + "' is the port of listen-address");
  }
  EXPECT_FALSE(Read({"--listen-address=a:7", "--metrics-address=a:7"}).ok());
  EXPECT_FALSE(Read({"--listen-address=a:7", "--metrics-address=0.0.0.0:7"}).ok());
  EXPECT_TRUE(Read({"--listen-address=a:7", "--metrics-address=b:7"}).ok());
  EXPECT_TRUE(Read({"--listen-address=a:0", "--metrics-address=a:0"}).ok());
  EXPECT_TRUE(Read({"--listen-address=a:9464", "--metrics-address=none"}).ok());
}

TEST(ConfigTest, AnEmptyValueIsNotTheNextFlag) {
  const absl::StatusOr<Config> config = Read({"--shared-memory-prefix=", "--workers-per-device=5"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->shared_memory_prefix, "");
  EXPECT_EQ(config->workers_per_device, 5);
  for (const char* const flag :
       {"--tls-cert", "--tls-client-ca", "--drain-timeout-ms", "--config"}) {
    const std::string empty = std::string(flag) + "=";
    EXPECT_FALSE(Read({empty.c_str()}).ok()) << flag;
    EXPECT_FALSE(Read({flag, ""}).ok()) << flag;
  }
}

TEST(ConfigTest, DifferingNamesWhatDiffers) {
  Config other;
  other.workers_per_device = 5;
  other.staging_buffer_bytes = 1 << 20;
  EXPECT_EQ(Differing(Config(), other, Change::kAtStart),
            (std::vector<std::string>{"workers-per-device", "staging-buffer-bytes"}));
}

TEST(ConfigDocTest, TheTableIsTheOneThatTheCodePrints) {
  std::ifstream file(WARPFOLD_CONFIGURATION_DOC);
  ASSERT_TRUE(file.good()) << WARPFOLD_CONFIGURATION_DOC;
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t start = page.find("## ");
  ASSERT_NE(start, std::string::npos);
  EXPECT_EQ(page.substr(start), OptionsPage()) << "print it again: warpfold-server --print-options";
}

TEST(ConfigDocTest, EverySectionBeginsWithAnOption) {
  EXPECT_NE(SectionBegunBy(ConfigOptions().front()), nullptr);
  std::vector<std::string> begun;
  for (const ConfigOption& option : ConfigOptions()) {
    if (const char* const title = SectionBegunBy(option)) begun.emplace_back(title);
  }
  std::vector<std::string> titles;
  for (const OptionSection& section : OptionSections()) titles.emplace_back(section.title);
  EXPECT_EQ(begun, titles);
}

TEST(ConfigDocTest, EveryNumberHasARangeAndAUnit) {
  for (const ConfigOption& option : ConfigOptions()) {
    const bool is_number = std::holds_alternative<int Config::*>(option.field) ||
                           std::holds_alternative<std::int64_t Config::*>(option.field);
    EXPECT_EQ(is_number, option.high > 0) << option.name;
    EXPECT_TRUE(!is_number || *option.unit != '\0') << option.name;
  }
}

}  // namespace
}  // namespace warpfold
