// The parts of --check: what they find on machines that the test makes up, and how it is written.

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/ops/list.h"
#include "server/check/device_checks.h"
#include "server/check/host_checks.h"
#include "server/check/report.h"
#include "server/memory_plan.h"
#include "server/system/listen_port.h"
#include "server/version.h"
#include "tests/server/faulty_device.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

using Result = Finding::Result;

// "FAIL cuda:0 GPU", a line a finding.
std::string Lines(const CheckReport& report) {
  std::string lines;
  for (const Finding& finding : report.findings) {
    const char* const results[] = {"ok", "warn", "FAIL"};
    lines += std::string(results[static_cast<int>(finding.result)]) + " " + finding.subject + " " +
             finding.check + "\n";
  }
  return lines;
}

const Finding* Find(const CheckReport& report, const std::string& subject,
                    const std::string& check) {
  for (const Finding& finding : report.findings) {
    if (finding.subject == subject && finding.check == check) return &finding;
  }
  return nullptr;
}

// Every failure and warning says what to do.
void ExpectRemedies(const CheckReport& report) {
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.remedy.empty(), finding.result == Result::kOk) << finding.check;
  }
}

class CheckPartsTest : public ::testing::Test {
 protected:
  CheckPartsTest() {
    machine_.has_driver_library = true;
    machine_.driver_cuda = 13000;
    machine_.driver_version = "580.65.06";
    machine_.gpus = {{.index = 0,
                      .name = "First | GPU",
                      .capability = {9, 0},
                      .memory_bytes = std::int64_t{16} << 30,
                      .pci_bus_id = "0000:00:00.0"},
                     {.index = 1,
                      .name = "Second",
                      .capability = {12, 1},
                      .memory_bytes = std::int64_t{8} << 30,
                      .pci_bus_id = "0000:01:00.0"}};
  }
  ~CheckPartsTest() override {
    unsetenv("FAKE_NVML_UNCORRECTED");
    unsetenv("FAKE_NVML_MIG");
  }

  CheckReport Gpus() {
    CheckReport report;
    CheckGpus(machine_, build_, WARPFOLD_FAKE_NVML, report);
    return report;
  }

  static constexpr cuda::ComputeCapability kMachineCode[] = {{8, 0}, {9, 0}};
  static constexpr cuda::ComputeCapability kPtx[] = {{12, 0}};
  Machine machine_;
  const Build build_{
      .has_cuda = true, .cuda_major = 13, .compiled = {.machine_code = kMachineCode, .ptx = kPtx}};
};

TEST_F(CheckPartsTest, EachGpuHasItsCodeItsMemoryItsErrorsAndItsMode) {
  const CheckReport report = Gpus();
  EXPECT_EQ(Lines(report),
            "ok driver version\nok cuda:0 GPU\nok cuda:0 ECC errors\nok cuda:1 GPU\n");
  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.devices[0].code, "machine code sm_90");
  EXPECT_EQ(report.devices[0].free_bytes, 600);
  EXPECT_EQ(report.devices[0].uncorrected_ecc_errors, 0);
  EXPECT_EQ(report.devices[0].is_mig, false);
  EXPECT_EQ(report.devices[1].code, "PTX sm_120");
  EXPECT_FALSE(report.devices[1].free_bytes.has_value());
  EXPECT_FALSE(report.devices[1].is_mig.has_value());
}

TEST_F(CheckPartsTest, UncorrectedErrorsAreAWarningAndMigIsSaid) {
  setenv("FAKE_NVML_UNCORRECTED", "3", 1);
  setenv("FAKE_NVML_MIG", "1", 1);
  const CheckReport report = Gpus();
  const Finding* errors = Find(report, "cuda:0", "ECC errors");
  ASSERT_NE(errors, nullptr);
  EXPECT_EQ(errors->result, Result::kWarn);
  EXPECT_EQ(errors->text, "3 uncorrected since the driver was loaded");
  EXPECT_NE(Find(report, "cuda:0", "GPU")->text.find("MIG on"), std::string::npos);
  EXPECT_TRUE(report.ok());
  ExpectRemedies(report);
}

TEST_F(CheckPartsTest, AGpuWithoutCodeFails) {
  machine_.gpus[0].capability = {7, 0};
  const CheckReport report = Gpus();
  EXPECT_FALSE(report.ok());
  EXPECT_NE(Find(report, "cuda:0", "GPU")
                ->text.find("GPU 0 is sm_70; this build has code for sm_80, sm_90"),
            std::string::npos);
  EXPECT_EQ(report.devices[0].code, "none");
  ExpectRemedies(report);
}

// Devices of which the second has wrong bits in every answer.
TEST_F(CheckPartsTest, EveryDeviceAnswersForEveryDtypeOnALineOfItsOwn) {
  Config config;
  config.workers_per_device = 1;
  Devices devices{.backend = Backend::kCuda};
  auto wrong = std::make_unique<FaultyDevice>("cuda:1");
  wrong->FlipABit();
  devices.executors.push_back(std::make_unique<FaultyDevice>("cuda:0"));
  devices.executors.push_back(std::move(wrong));
  devices.left_out = {{"cuda:2", "GPU 2: out of memory"}};
  CheckReport report;
  CheckDevices(config, devices, report);
  EXPECT_EQ(Find(report, "cuda:2", "open")->result, Result::kFail);
  for (const DType dtype : kAllDTypes) {
    const std::string check = std::string("self-test ") + Name(dtype);
    ASSERT_NE(Find(report, "cuda:0", check), nullptr) << check;
    EXPECT_EQ(Find(report, "cuda:0", check)->text, absl::StrCat(kOpCount, " ops"));
    EXPECT_EQ(Find(report, "cuda:0", check)->result, Result::kOk);
    ASSERT_NE(Find(report, "cuda:1", check), nullptr) << check;
    EXPECT_EQ(Find(report, "cuda:1", check)->result, Result::kFail);
  }
  ExpectRemedies(report);
}

TEST_F(CheckPartsTest, TextIsAlignedAndSumsUp) {
  CheckReport report{.backend = "cuda"};
  report.devices.push_back({.name = "cuda:0"});
  report.Ok("cuda:0", "self-test f32", "16 ops");
  report.Warn("host", "open files", "1024", "raise it");
  EXPECT_EQ(ToText(report),
            "ok   cuda:0  self-test f32: 16 ops\n"
            "warn host    open files: 1024; raise it\n"
            "ready to serve on cuda, 1 device, 1 warning\n");
  report.Fail("devices", "open", "no GPU", "get one");
  EXPECT_EQ(ToText(report),
            "ok   cuda:0   self-test f32: 16 ops\n"
            "warn host     open files: 1024; raise it\n"
            "FAIL devices  open: no GPU; get one\n"
            "1 failure, 1 warning\n");
}

TEST_F(CheckPartsTest, JsonHasTheSameFacts) {
  CheckReport report = Gpus();
  report.Fail("host", "port", "held \xff", "end it");
  const nlohmann::json json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["driver_version"], "580.65.06");
  EXPECT_EQ(json["devices"][0]["code"], "machine code sm_90");
  EXPECT_EQ(json["devices"][0]["free_bytes"], 600);
  EXPECT_TRUE(json["devices"][1]["mig"].is_null());
  ASSERT_EQ(json["checks"].size(), report.findings.size());
  EXPECT_EQ(json["checks"].back()["result"], "fail");
  EXPECT_EQ(json["checks"].back()["remedy"], "end it");
}

TEST_F(CheckPartsTest, ARowSaysWhatRanAndNothingOfTheMachine) {
  CheckReport report = Gpus();
  report.Ok("cuda:0", "self-test f32", "16 ops");
  report.Fail("cuda:1", "self-test f32", "secret", "secret");
  report.Fail("host", "TLS", "tls-cert: /home/someone/cert.pem", "secret");
  const std::string rows = ToRows(report, "2026-11-25");
  EXPECT_EQ(rows.find("| First \\| GPU | 9.0 | machine code sm_90 | `warpfold-server --check`, "
                      "driver 580.65.06, SIMD "),
            0U)
      << rows;
  EXPECT_NE(rows.find(" | pass | 2026-11-25, " + std::string(kVersion) +
                      " |\n| Second | 12.1 | PTX sm_120 | "),
            std::string::npos)
      << rows;
  EXPECT_NE(rows.find(" | FAIL: self-test f32 | 2026-11-25, " + std::string(kVersion) + " |\n"),
            std::string::npos)
      << rows;
  for (const char* named : {"secret", "/home", "GPU-1", "GPU-2", "0000:0"}) {
    EXPECT_EQ(rows.find(named), std::string::npos) << named << " in " << rows;
  }
}

TEST_F(CheckPartsTest, TheRowOfACpuHasItsSimdTarget) {
  CheckReport report;
  report.devices.push_back({.name = "cpu", .model = "A CPU"});
  report.Ok("cpu", "self-test f32", "16 ops");
  EXPECT_EQ(ToRows(report, "2026-11-25"), std::string("| A CPU | ") + cpu::SimdTargetName() +
                                              " | `warpfold-server --check` | pass | 2026-11-25, " +
                                              kVersion + " |\n");
}

TEST_F(CheckPartsTest, AGpuThatCouldNotBeOpenedHasNotPassed) {
  EXPECT_NE(ToRows(Gpus(), "2026-11-25").find("FAIL: not opened"), std::string::npos);
}

TEST_F(CheckPartsTest, TheMemoryLimitTheSumAndWhatIsLeftAreShown) {
  CheckReport report;
  const Config config{.workers_per_device = 4};
  MemoryLimit limit{.bytes = std::int64_t{4} << 30, .source = "memory.max of /a/group"};
  CheckMemory(config, Backend::kCpu, 1, limit, report);
  limit.bytes >>= 1;
  CheckMemory(config, Backend::kCpu, 1, limit, report);
  EXPECT_EQ(Lines(report), "ok host memory\nFAIL host memory\n");
  ExpectRemedies(report);
  EXPECT_EQ(report.findings[0].text, MemoryPlan(config, Backend::kCpu, 1).Sum() +
                                         ", of 0.85 of 4096 MiB (memory.max of /a/group); "
                                         "requests share 1097 MiB");
  EXPECT_NE(report.findings[1].text.find("above 0.85 of 2048 MiB (memory.max of /a/group)"),
            std::string::npos);
}

TEST_F(CheckPartsTest, FewOpenFilesAreAWarningAndVeryFewAFailure) {
  CheckReport report;
  for (const std::int64_t files :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{65536}, std::int64_t{65535},
        std::int64_t{64}, std::int64_t{32}, std::int64_t{31}}) {
    CheckOpenFiles(files, report);
  }
  EXPECT_EQ(Lines(report),
            "ok host open files\nok host open files\nwarn host open files\nwarn host open files\n"
            "warn host open files\nFAIL host open files\n");
  EXPECT_EQ(report.findings[0].text, "unlimited");
  ExpectRemedies(report);
}

TEST_F(CheckPartsTest, AnAddressOfOtherHostsWithoutTlsIsAWarning) {
  for (const char* const address : {"127.0.0.1:1", "localhost:1", "unix:/a"}) {
    CheckReport report;
    Config config;
    config.listen_address = address;
    CheckTls(config, report);
    EXPECT_EQ(Lines(report), "ok host TLS\n") << address;
    EXPECT_EQ(report.findings[0].text, "off") << address;
  }
  CheckReport report;
  Config config;
  config.listen_address = "0.0.0.0:1, 127.0.0.1:2, 10.0.0.1:3, unix:/a";
  CheckTls(config, report);
  EXPECT_EQ(Lines(report), "warn host TLS\n");
  EXPECT_EQ(report.findings[0].text, "off, and other hosts reach 0.0.0.0:1, 10.0.0.1:3");
  ExpectRemedies(report);
}

// As GetServerInfo says it.
TEST_F(CheckPartsTest, WhatServersWarnOfIsAWarning) {
  const UniqueTempFolder folder;
  Config config;
  CheckReport closed;
  CheckCallers(config, closed);
  EXPECT_EQ(Lines(closed), "ok host callers\n");
  config.listen_address = "0.0.0.0:1";
  config.metrics_address = "0.0.0.0:2";
  config.callers_file = folder.Write("callers", "caller=anonymous scopes=reduce\n");
  CheckReport open;
  CheckCallers(config, open);
  EXPECT_EQ(Lines(open), "ok host callers\nwarn host access\nwarn host access\n");
  EXPECT_EQ(open.findings[1].text,
            "everyone who reaches 0.0.0.0:1 may call: as 'anonymous' of --callers-file");
  EXPECT_EQ(open.findings[2].text,
            "everyone who reaches 0.0.0.0:2 may read the metrics: --metrics-auth is off");
  ExpectRemedies(open);
}

TEST_F(CheckPartsTest, AddressesThatExcludeEachOtherFail) {
  const int port = TryListening({"127.0.0.1", 0}).port;
  const std::string name = absl::StrCat("localhost:", port);
  const std::string number = absl::StrCat("127.0.0.1:", port);
  Config config;
  config.listen_address = name + "," + number;
  config.metrics_address = "none";
  CheckReport listen;
  CheckPorts(config, listen);
  EXPECT_EQ(Lines(listen), absl::StrCat("ok host port ", name, "\nFAIL host port ", number, "\n"));
  EXPECT_EQ(listen.findings[1].text, "taken by another address of this server");
  ExpectRemedies(listen);
  config.listen_address = name;
  config.metrics_address = number;
  CheckReport metrics;
  CheckPorts(config, metrics);
  EXPECT_EQ(Lines(metrics), Lines(listen));
  // Nothing is left of it.
  EXPECT_EQ(TryListening({"127.0.0.1", port}).error, 0);
}

TEST_F(CheckPartsTest, TwoPathsOfOneSocketFail) {
  const UniqueTempFolder folder;
  std::filesystem::create_directory_symlink(folder.path(), folder.Path("link"));
  const std::string first = "unix:" + folder.Path("a.sock");
  const std::string second = "unix:" + folder.Path("link/a.sock");
  Config config;
  config.listen_address = first + "," + second;
  config.metrics_address = "none";
  CheckReport report;
  CheckPorts(config, report);
  EXPECT_EQ(Lines(report), absl::StrCat("ok host ", first, "\nFAIL host ", second, "\n"));
  ExpectRemedies(report);
}

TEST_F(CheckPartsTest, APortFileHasToBeWritable) {
  const UniqueTempFolder folder;
  Config config;
  CheckReport report;
  CheckPortFile(config, report);
  EXPECT_TRUE(report.findings.empty());
  config.port_file = folder.Path("ports");
  CheckPortFile(config, report);
  config.port_file = "ports";  // beside the process
  CheckPortFile(config, report);
  config.port_file = folder.path();
  CheckPortFile(config, report);
  config.port_file = folder.Path("no/such/ports");
  CheckPortFile(config, report);
  EXPECT_EQ(Lines(report),
            "ok host port file\nok host port file\nFAIL host port file\nFAIL host port file\n");
  EXPECT_FALSE(std::filesystem::exists(folder.Path("ports")));
  ExpectRemedies(report);
}

TEST_F(CheckPartsTest, ABrokenDriverLibraryIsNotNone) {
  Machine machine;
  CheckReport report;
  CheckGpus(machine, build_, WARPFOLD_FAKE_NVML, report);
  EXPECT_EQ(Lines(report), "ok driver libcuda.so.1\n");
  machine.library_is_broken = true;
  CheckReport broken;
  CheckGpus(machine, build_, WARPFOLD_FAKE_NVML, broken);
  EXPECT_TRUE(broken.findings.empty());  // the devices' line says it
}

}  // namespace
}  // namespace warpfold
