// What a machine with a fake driver says, and what OpenDevices makes of it.
#include "server/device/backend/machine.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/device/backend/backend.h"
#include "server/device/cpu/cpu_executor.h"
#include "tests/temp_folder.h"

namespace warpfold {
namespace {

class MachineTest : public ::testing::Test {
 protected:
  ~MachineTest() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }

  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
    set_.push_back(name);
  }
  void AddFile(const std::string& name, const std::string& text = "") { folder_.Write(name, text); }
  std::string folder_path() const { return folder_.path(); }
  // With the fake libraries, and the test's folder for /dev.
  MachinePlaces Places() const {
    return {.device_folder = folder_.path(),
            .driver_version_file = folder_.Path("version"),
            .driver_library = WARPFOLD_FAKE_DRIVER,
            .nvml_library = "libno-such-nvml.so"};
  }

 private:
  const UniqueTempFolder folder_;
  std::vector<std::string> set_;
};

TEST_F(MachineTest, WithoutAnythingSaysSo) {
  MachinePlaces places = Places();
  places.driver_library = "libno-such-driver.so.1";
  const Machine machine = ReadMachine(places);
  EXPECT_FALSE(machine.has_driver_library);
  EXPECT_NE(machine.library_problem.find("libno-such-driver.so.1"), std::string::npos);
  EXPECT_FALSE(machine.has_gpu());
}

TEST_F(MachineTest, ALibraryThatCannotBeUsedIsBrokenAndNotMissing) {
  MachinePlaces places = Places();
  EXPECT_FALSE(ReadMachine(places).library_is_broken);
  places.driver_library = "libno-such-driver.so.1";
  EXPECT_FALSE(ReadMachine(places).library_is_broken);
  AddFile("empty.so");
  places.driver_library = folder_path() + "/empty.so";
  EXPECT_TRUE(ReadMachine(places).library_is_broken);
  places.driver_library = "libm.so.6";  // without a function of the driver's
  const Machine machine = ReadMachine(places);
  EXPECT_TRUE(machine.library_is_broken);
  EXPECT_FALSE(machine.has_driver_library);
  EXPECT_EQ(machine.library_problem, "it lacks a function of CUDA's driver API");
}

TEST_F(MachineTest, SeesTheDeviceNodesOfGpusAndNoOthers) {
  for (const char* name : {"nvidia0", "nvidia17", "nvidiactl", "dxg", "nvidia-uvm", "nvidia",
                           "nvidia-caps", "nvidia1x", "null"}) {
    AddFile(name);
  }
  EXPECT_EQ(
      ReadMachine(Places()).device_nodes,
      (std::vector<std::string>{"/dev/dxg", "/dev/nvidia0", "/dev/nvidia17", "/dev/nvidiactl"}));
}

TEST_F(MachineTest, ReadsTheGpusOfTheDriver) {
  Set("FAKE_CUDA_GPUS", "9.0,7.0");
  Set("FAKE_CUDA_VERSION", "13010");
  const Machine machine = ReadMachine(Places());
  EXPECT_TRUE(machine.has_driver_library);
  EXPECT_EQ(machine.driver_cuda, 13010);
  EXPECT_EQ(machine.init_problem, "");
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].name, "Fake GPU 0");
  EXPECT_EQ(machine.gpus[0].capability, (cuda::ComputeCapability{9, 0}));
  EXPECT_EQ(machine.gpus[0].memory_bytes, std::int64_t{16} << 30);
  EXPECT_EQ(machine.gpus[1].index, 1);
  EXPECT_EQ(machine.gpus[1].capability, (cuda::ComputeCapability{7, 0}));
}

TEST_F(MachineTest, HearsThatTheDriverListsNoGpu) {
  Set("FAKE_CUDA_INIT", "100");
  const Machine machine = ReadMachine(Places());
  EXPECT_TRUE(machine.lists_no_gpu);
  EXPECT_EQ(machine.init_problem, "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected");
}

TEST_F(MachineTest, HearsThatTheDriverDoesNotStart) {
  Set("FAKE_CUDA_INIT", "999");
  const Machine machine = ReadMachine(Places());
  EXPECT_FALSE(machine.lists_no_gpu);
  EXPECT_EQ(machine.init_problem, "CUDA_ERROR_UNKNOWN: unknown error");
}

TEST_F(MachineTest, AsksNvmlForTheDriversVersionAndElseTheKernelModule) {
  EXPECT_EQ(ReadMachine(Places()).driver_version, "");
  AddFile("version",
          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC\n"
          "GCC version:  gcc version 12.3.0\n");
  EXPECT_EQ(ReadMachine(Places()).driver_version, "535.183.01");
  AddFile("version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n");
  EXPECT_EQ(ReadMachine(Places()).driver_version, "580.65.06");
  MachinePlaces places = Places();
  places.nvml_library = WARPFOLD_FAKE_NVML;
  EXPECT_EQ(ReadMachine(places).driver_version, "550.54");
}

TEST_F(MachineTest, TellsAnEmptyListOfVisibleDevicesFromNone) {
  EXPECT_FALSE(ReadMachine(Places()).visible_devices.has_value());
  Set("CUDA_VISIBLE_DEVICES", "");
  EXPECT_EQ(ReadMachine(Places()).visible_devices, "");
}

// What opens GPUs here: a CPU in their place, and for `failing` what the runtime would say.
OpenGpu OpenAllBut(std::map<int, absl::Status> failing) {
  return [failing = std::move(failing)](
             int index, const WorkerOptions& options) -> absl::StatusOr<std::unique_ptr<Executor>> {
    if (const auto found = failing.find(index); found != failing.end()) return found->second;
    return std::make_unique<CpuExecutor>(options);
  };
}

constexpr cuda::ComputeCapability kCode[] = {{8, 0}, {9, 0}};
const Build kBuild{.has_cuda = true, .cuda_major = 13, .compiled = {.machine_code = kCode}};

TEST_F(MachineTest, OneBadGpuAmongGoodOnesIsLeftOut) {
  Set("FAKE_CUDA_GPUS", "9.0,7.0,8.6");
  const absl::StatusOr<Devices> devices = OpenDevicesOn(
      ReadMachine(Places()), kBuild,
      OpenAllBut({{0, absl::ResourceExhaustedError("CUDA: cudaErrorMemoryAllocation")}}),
      Backend::kAuto, {});
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->backend, Backend::kCuda);
  EXPECT_EQ(devices->executors.size(), 1U);
  EXPECT_EQ(devices->reason, "1 of 3 GPUs");
  ASSERT_EQ(devices->left_out.size(), 2U);
  EXPECT_EQ(devices->left_out[0].name, "cuda:1");
  EXPECT_EQ(devices->left_out[0].why, "GPU 1 is sm_70; this build has code for sm_80, sm_90");
  EXPECT_EQ(devices->left_out[1].name, "cuda:0");
  EXPECT_EQ(devices->left_out[1].why, "GPU 0: CUDA: cudaErrorMemoryAllocation");
}

TEST_F(MachineTest, WithoutAGoodGpuNothingOpensAndEveryReasonIsSaid) {
  Set("FAKE_CUDA_GPUS", "9.0,7.0");
  for (const Backend backend : {Backend::kAuto, Backend::kCuda}) {
    const absl::Status status =
        OpenDevicesOn(ReadMachine(Places()), kBuild,
                      OpenAllBut({{0, absl::ResourceExhaustedError("out of memory")}}), backend, {})
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(std::string(status.message()),
              "GPU 1 is sm_70; this build has code for sm_80, sm_90. GPU 0: out of memory; "
              "--backend=cpu asks for the CPU");
  }
}

TEST_F(MachineTest, WhereNoGpuIsPresentAutoTakesTheCpuAndSaysWhy) {
  MachinePlaces places = Places();
  places.driver_library = "libno-such-driver.so.1";
  const absl::StatusOr<Devices> devices =
      OpenDevicesOn(ReadMachine(places), kBuild, OpenAllBut({}), Backend::kAuto, {});
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->backend, Backend::kCpu);
  EXPECT_EQ(devices->executors.size(), 1U);
  EXPECT_EQ(devices->reason, "no GPU: no /dev/nvidia*, no /dev/dxg and no libcuda.so.1");
}

TEST_F(MachineTest, AskedForTheCpuNoGpuIsLookedFor) {
  const absl::StatusOr<Devices> devices = OpenDevices(Backend::kCpu, {});
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->backend, Backend::kCpu);
  EXPECT_EQ(devices->reason, "chosen by configuration");
}

}  // namespace
}  // namespace warpfold
