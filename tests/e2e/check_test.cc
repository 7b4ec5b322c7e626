// The real binary before it serves: --check, and the start on machines whose driver is a fake
// (tests/device/fake_driver.cc).
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/ops/list.h"
#include "tests/e2e/certificates.h"
#include "tests/e2e/server_process.h"
#include "tests/temp_folder.h"

namespace warpfold::e2e {
namespace {

struct Ran {
  int code = -1;
  std::string output;  // stdout and stderr
};

// Runs the server with `arguments` until it exits. REQUIRES: nothing that a shell would see.
Ran RunServer(const std::string& environment, const std::string& arguments,
              const std::string& streams = "2>&1") {
  const char* path = std::getenv("WARPFOLD_SERVER");
  const std::string command = environment + " timeout 60 " +
                              (path != nullptr ? path : WARPFOLD_SERVER_PATH) + " " + arguments +
                              " " + streams;
  std::FILE* pipe = popen(command.c_str(), "r");
  Ran run;
  std::array<char, 4096> buffer;
  for (std::size_t count; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    run.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

bool Has(const Ran& run, const std::string& text) {
  return run.output.find(text) != std::string::npos;
}

const std::string kPorts = "--listen-address=127.0.0.1:0 --metrics-address=127.0.0.1:0 ";
const std::string kCpuCheck = "--check --backend=cpu " + kPorts;
const std::string kFakeDriver = "LD_LIBRARY_PATH=" WARPFOLD_FAKE_DRIVER_FOLDER " ";

struct DriverCase {
  const char* environment;
  const char* reason;
};
#ifdef WARPFOLD_HAS_CUDA
constexpr DriverCase kBadDrivers[] = {
    {"FAKE_CUDA_GPUS=9.0 FAKE_CUDA_VERSION=12040",
     "driver 550.54 is too old for CUDA 13 (needs 580)"},
    {"FAKE_CUDA_GPUS=6.1", "GPU 0 is sm_61; this build has code for "},
    {"FAKE_CUDA_GPUS=9.0 CUDA_VISIBLE_DEVICES=0,7",
     "CUDA_VISIBLE_DEVICES is '0,7': '7' is no GPU that the driver lists"},
    {"FAKE_CUDA_INIT=100", "lists"},  // a library without nodes, or, on a GPU's host, with them
};
#else
constexpr DriverCase kBadDrivers[] = {
    {"FAKE_CUDA_GPUS=9.0", "the driver lists a GPU, but this build has no CUDA backend"},
};
#endif

TEST(FakeDriverTest, AGpuThatCannotBeUsedEndsTheStartAndTheCheckWithItsReason) {
  for (const DriverCase& c : kBadDrivers) {
    const std::string environment = kFakeDriver + c.environment;
    for (const char* asked : {"", "--backend=auto ", "--check "}) {
      const Ran run = RunServer(environment, asked + kPorts);
      EXPECT_EQ(run.code, 1) << c.environment << " " << asked << run.output;
      EXPECT_TRUE(Has(run, c.reason)) << c.environment << " " << asked << run.output;
      EXPECT_TRUE(Has(run, "--backend=cpu asks for the CPU")) << run.output;
    }
  }
}

TEST(FakeDriverTest, TheCpuIsTakenWhereItIsAskedFor) {
  for (const DriverCase& c : kBadDrivers) {
    const Ran run = RunServer(kFakeDriver + c.environment, kCpuCheck);
    EXPECT_EQ(run.code, 0) << c.environment << run.output;
    EXPECT_TRUE(Has(run, "cpu: chosen by configuration")) << run.output;
  }
}

TEST(FakeDriverTest, AnEmptyListOfVisibleDevicesAsksForTheCpu) {
  const Ran run =
      RunServer(kFakeDriver + "FAKE_CUDA_GPUS=9.0 CUDA_VISIBLE_DEVICES=", "--check " + kPorts);
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_TRUE(Has(run, "cpu: CUDA_VISIBLE_DEVICES is '': every GPU is hidden")) << run.output;
  const Ran cuda = RunServer(kFakeDriver + "FAKE_CUDA_GPUS=9.0 CUDA_VISIBLE_DEVICES=-1",
                             "--check --backend=cuda " + kPorts);
  EXPECT_EQ(cuda.code, 1) << cuda.output;
  EXPECT_TRUE(Has(cuda, "CUDA_VISIBLE_DEVICES is '-1': every GPU is hidden")) << cuda.output;
}

TEST(CheckTest, EveryDtypeHasALineAndTheCodeIsZero) {
  const Ran run = RunServer("", kCpuCheck);
  EXPECT_EQ(run.code, 0) << run.output;
  for (const char* dtype : {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16",
                            "bf16", "f32", "f64"}) {
    const std::string ops = std::to_string(kAllOps.size()) + " ops\n";
    EXPECT_TRUE(Has(run, std::string("self-test ") + dtype + ": " + ops)) << run.output;
  }
  EXPECT_TRUE(Has(run, "ready to serve on cpu, 1 device")) << run.output;
}

TEST(CheckTest, TooFewOpenFilesForAStartFailTheCheck) {
  const Ran few = RunServer("prlimit --nofile=32", kCpuCheck);
  EXPECT_EQ(few.code, 0) << few.output;
  EXPECT_TRUE(Has(few, "warn host     open files: up to 32; ")) << few.output;
  const Ran fewer = RunServer("prlimit --nofile=31", kCpuCheck);
  EXPECT_EQ(fewer.code, 1);
  EXPECT_TRUE(Has(fewer, "FAIL host     open files: up to 31; ")) << fewer.output;
  const Ran start = RunServer("prlimit --nofile=31", "--backend=cpu " + kPorts);
  EXPECT_EQ(start.code, 1);
  EXPECT_TRUE(Has(start, "open files: the system lets this process have up to 31, and it needs 32"))
      << start.output;
}

TEST(CheckTest, APortThatAServerHoldsIsAWarningThatNamesIt) {
  const auto server = ServerProcess::Start({"--backend=cpu"});
  ASSERT_NE(server, nullptr);
  const std::string port = std::to_string(server->grpc_port());
  const Ran run = RunServer(
      "", "--check --backend=cpu --metrics-address=none --listen-address=127.0.0.1:" + port);
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_TRUE(Has(run, "warn host")) << run.output;
  EXPECT_TRUE(Has(run, "port 127.0.0.1:" + port + ": held by warpfold-server ")) << run.output;
  EXPECT_TRUE(Has(run, " (pid " + std::to_string(server->pid()) + ")")) << run.output;
  EXPECT_FALSE(Has(run, "does not answer")) << run.output;
}

TEST(CheckTest, AServerWithTlsIsNamedWithoutItsVersion) {
  const UniqueTempFolder folder;
  const KeyAndCertificate issued = Authority().Issue();
  const auto server = ServerProcess::Start(
      {"--backend=cpu", "--tls-cert=" + folder.Write("cert", issued.certificate),
       "--tls-key=" + folder.Write("key", issued.key)});
  ASSERT_NE(server, nullptr);
  const std::string address = "127.0.0.1:" + std::to_string(server->grpc_port());
  const Ran run =
      RunServer("", "--check --backend=cpu --metrics-address=none --listen-address=" + address);
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_TRUE(Has(run, "port " + address +
                           ": held by warpfold-server, which tells nothing without TLS (pid " +
                           std::to_string(server->pid()) + ")"))
      << run.output;
}

TEST(CheckTest, APortThatSomethingElseHoldsIsAFailureThatNamesIt) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Ran run = RunServer(
      "", "--check --backend=cpu --listen-address=127.0.0.1:0 --metrics-address=127.0.0.1:" + port);
  close(listener);
  EXPECT_EQ(run.code, 1) << run.output;
  EXPECT_TRUE(Has(run, "FAIL host")) << run.output;
  EXPECT_TRUE(Has(run, "port 127.0.0.1:" + port + ": held by warpfold_check_")) << run.output;
  EXPECT_TRUE(Has(run, " (pid " + std::to_string(getpid()) +
                           "); end it, or give "
                           "--metrics-address another port"))
      << run.output;
}

TEST(CheckTest, CertificatesAreReadAndTheirEndIsSaid) {
  const UniqueTempFolder folder;
  const Authority authority;
  const KeyAndCertificate good = authority.Issue(400);
  const KeyAndCertificate short_lived = authority.Issue(3);
  const std::string key = folder.Write("key.pem", good.key);
  const std::string certificate = folder.Write("cert.pem", good.certificate);
  const Ran fits = RunServer("", kCpuCheck + "--tls-cert=" + certificate + " --tls-key=" + key);
  EXPECT_EQ(fits.code, 0) << fits.output;
  EXPECT_TRUE(Has(fits, "TLS: certificate and key fit, valid until ")) << fits.output;
  const std::string other = folder.Write("short.pem", short_lived.certificate);
  const Ran misfit = RunServer("", kCpuCheck + "--tls-cert=" + other + " --tls-key=" + key);
  EXPECT_EQ(misfit.code, 1) << misfit.output;
  EXPECT_TRUE(Has(misfit, "is not the key of the certificate")) << misfit.output;
  const std::string short_key = folder.Write("short-key.pem", short_lived.key);
  const Ran ends = RunServer("", kCpuCheck + "--tls-cert=" + other + " --tls-key=" + short_key);
  EXPECT_EQ(ends.code, 0) << ends.output;
  EXPECT_TRUE(Has(ends, "renew it")) << ends.output;
}

TEST(CheckTest, JsonHoldsTheDocumentedKeys) {
  const Ran run = RunServer("", kCpuCheck + "--json");
  EXPECT_EQ(run.code, 0);
  const nlohmann::json json = nlohmann::json::parse(run.output);
  for (const char* key :
       {"ok", "version", "backend", "simd", "driver_version", "devices", "checks"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["devices"][0]["device"], "cpu");
}

TEST(CheckTest, ARowNamesNoHost) {
  const Ran run = RunServer("", kCpuCheck + "--report");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.output.rfind("| ", 0), 0U) << run.output;
  EXPECT_TRUE(Has(run, " | pass | ")) << run.output;
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  EXPECT_FALSE(Has(run, host.data())) << run.output;
  EXPECT_FALSE(Has(run, "127.0.0.1")) << run.output;
}

TEST(CheckTest, ARowThatFailsHasItsReasonsBeside) {
  const UniqueTempFolder folder;
  const Ran run = RunServer("", kCpuCheck + "--report --port-file=" + folder.path());
  EXPECT_EQ(run.code, 1) << run.output;
  EXPECT_TRUE(Has(run, " | pass | ")) << run.output;
  EXPECT_TRUE(Has(run, "port file: " + folder.path() + " is a folder")) << run.output;
}

TEST(CheckTest, WhatCannotBePrintedIsAFailure) {
  for (const char* const asked : {"--check --backend=cpu ", "--print-config ", "--version "}) {
    const Ran run = RunServer("", asked + kPorts, "2>&1 >/dev/full");
    EXPECT_EQ(run.code, 1) << asked << run.output;
    EXPECT_TRUE(Has(run, "stdout: cannot be written")) << asked << run.output;
  }
}

TEST(HashTokenTest, ReadsATokenAsClientsReadItsFile) {
  const Ran hashed = RunServer("printf token-of-a-caller |", "--hash-token");
  EXPECT_EQ(hashed.code, 0) << hashed.output;
  EXPECT_EQ(hashed.output.size(), 65U) << hashed.output;
  for (const char* const end : {"\\n", "\\r\\n", " \\n\\n"}) {
    const Ran ended =
        RunServer(std::string("printf 'token-of-a-caller") + end + "' |", "--hash-token");
    EXPECT_EQ(ended.output, hashed.output) << end;
  }
  for (const char* const other :
       {"token-of-a-caller\\nand-another-line", "two words", "short", ""}) {
    const Ran refused = RunServer(std::string("printf '") + other + "' |", "--hash-token");
    EXPECT_EQ(refused.code, 2) << other << refused.output;
    EXPECT_TRUE(Has(refused, "hash-token: a token has 16 to 4096 printable characters")) << other;
  }
  EXPECT_EQ(RunServer("", "--hash-token --print-options").code, 2);
}

TEST(CheckTest, ABadConfigurationIsNotChecked) {
  for (const char* arguments :
       {"--check --workers-per-device=-1", "--check --backend=gpu",
        "--check --config=/no/such/file", "--json", "--report", "--check --json --report",
        "--check --check-config", "--check --print-config", "--check --print-options",
        "--check --listen-address=:50051",
        "--check --listen-address=127.0.0.1:7 --metrics-address=127.0.0.1:7"}) {
    const Ran run = RunServer("", arguments);
    EXPECT_EQ(run.code, 2) << arguments << run.output;
    EXPECT_FALSE(Has(run, "self-test")) << run.output;
  }
}

}  // namespace
}  // namespace warpfold::e2e
