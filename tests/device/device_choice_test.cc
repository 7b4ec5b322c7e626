// Every machine that --backend may find, and what it comes to.
#include "server/device/backend/device_choice.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace warpfold {
namespace {

using cuda::ComputeCapability;
using Kind = DeviceChoice::Kind;

constexpr std::array<ComputeCapability, 5> kMachineCode = {
    {{7, 5}, {8, 0}, {9, 0}, {10, 0}, {12, 0}}};
constexpr std::array<ComputeCapability, 1> kPtx = {{{12, 0}}};
const Build kCudaBuild{
    .has_cuda = true, .cuda_major = 13, .compiled = {.machine_code = kMachineCode, .ptx = kPtx}};
const Build kPtxBuild{.has_cuda = true, .cuda_major = 13, .compiled = {.ptx = kPtx}};
const Build kCpuBuild;

// A machine whose driver is well and lists `gpus`.
Machine With(const std::vector<ComputeCapability>& gpus) {
  Machine machine{.has_driver_library = true, .driver_cuda = 13000, .driver_version = "580.65.06"};
  for (const ComputeCapability& capability : gpus) {
    const int index = static_cast<int>(machine.gpus.size());
    machine.gpus.push_back({.index = index, .capability = capability});
    machine.device_nodes.push_back("/dev/nvidia" + std::to_string(index));
  }
  return machine;
}

Machine Empty() { return {.library_problem = "libcuda.so.1: no such file"}; }

Machine NodesWithoutLibrary(std::vector<std::string> nodes) {
  Machine machine = Empty();
  machine.device_nodes = std::move(nodes);
  return machine;
}

Machine BrokenLibrary(std::vector<std::string> nodes) {
  Machine machine = NodesWithoutLibrary(std::move(nodes));
  machine.library_is_broken = true;
  machine.library_problem = "libcuda.so.1: file too short";
  return machine;
}

Machine LibraryWithoutNodes() {
  return {.has_driver_library = true,
          .driver_cuda = 13000,
          .init_problem = "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
          .lists_no_gpu = true};
}

Machine NodesAndNoGpu() {
  Machine machine = LibraryWithoutNodes();
  machine.device_nodes = {"/dev/nvidia0", "/dev/nvidiactl"};
  machine.driver_version = "580.65.06";
  return machine;
}

Machine OldDriver(std::string version) {
  Machine machine = With({{9, 0}});
  machine.driver_cuda = 12040;
  machine.driver_version = std::move(version);
  return machine;
}

Machine DriverThatDoesNotStart() {
  Machine machine = NodesAndNoGpu();
  machine.lists_no_gpu = false;
  machine.init_problem = "CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized";
  return machine;
}

Machine Showing(std::string visible, Machine machine) {
  machine.visible_devices = std::move(visible);
  return machine;
}

struct Case {
  const char* name;
  Machine machine;
  Build build;
  Kind by_auto;
  Kind by_cuda;
  const char* reason;  // part of it, of both
};

const Case kCases[] = {
    {"nothing", Empty(), kCudaBuild, Kind::kCpu, Kind::kRefuse,
     "no GPU: no /dev/nvidia*, no /dev/dxg and no libcuda.so.1"},
    {"a good GPU", With({{9, 0}}), kCudaBuild, Kind::kCuda, Kind::kCuda, ""},
    {"a later minor version", With({{8, 9}}), kCudaBuild, Kind::kCuda, Kind::kCuda, ""},
    {"a GPU for PTX", With({{12, 1}}), kPtxBuild, Kind::kCuda, Kind::kCuda, ""},
    {"a GPU that lists without nodes",
     [] {
       Machine machine = With({{8, 7}});
       machine.device_nodes.clear();
       return machine;
     }(),
     kCudaBuild, Kind::kCuda, Kind::kCuda, ""},
    {"nodes, no library", NodesWithoutLibrary({"/dev/nvidia0", "/dev/nvidiactl"}), kCudaBuild,
     Kind::kRefuse, Kind::kRefuse,
     "/dev/nvidia0, /dev/nvidiactl are here, but the driver's library is not (libcuda.so.1: no "
     "such file): install driver 580 or newer, or start the container with --gpus all"},
    {"the control node alone", NodesWithoutLibrary({"/dev/nvidiactl"}), kCudaBuild, Kind::kRefuse,
     Kind::kRefuse, "/dev/nvidiactl is here, but"},
    {"WSL without its library", NodesWithoutLibrary({"/dev/dxg"}), kCudaBuild, Kind::kRefuse,
     Kind::kRefuse, "/dev/dxg is here, but"},
    {"a broken library, no nodes", BrokenLibrary({}), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "libcuda.so.1 is here, but cannot be used (libcuda.so.1: file too short): install driver 580 "
     "or newer"},
    {"a broken library, nodes", BrokenLibrary({"/dev/nvidia0"}), kCudaBuild, Kind::kRefuse,
     Kind::kRefuse, "libcuda.so.1 is here, but cannot be used"},
    {"a broken library without CUDA", BrokenLibrary({}), kCpuBuild, Kind::kCpu, Kind::kRefuse,
     "this build has no CUDA backend"},
    {"a library, no nodes", LibraryWithoutNodes(), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "libcuda.so.1 is here, but no GPU's device node (/dev/nvidia*, /dev/dxg), and it lists no GPU "
     "(CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected): a container needs --gpus all"},
    {"an old driver", OldDriver("550.54"), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "driver 550.54 is too old for CUDA 13 (needs 580)"},
    {"an old driver of unknown version", OldDriver(""), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "the driver is too old for CUDA 13 (needs 580)"},
    {"no code", With({{7, 0}}), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "GPU 0 is sm_70; this build has code for sm_75, sm_80, sm_90, sm_100, sm_120"},
    {"no code between two", With({{11, 0}}), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "GPU 0 is sm_110; this build has code for"},
    {"no code in PTX", With({{9, 0}}), kPtxBuild, Kind::kRefuse, Kind::kRefuse,
     "GPU 0 is sm_90; this build has code for PTX of sm_120"},
    {"no code for two", With({{7, 0}, {6, 1}}), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "GPU 1 is sm_61; this build has code for"},
    {"a GPU that does not answer", With({{0, 0}}), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "GPU 0 does not answer the driver"},
    {"nodes, and a driver that lists none", NodesAndNoGpu(), kCudaBuild, Kind::kRefuse,
     Kind::kRefuse, "/dev/nvidia0, /dev/nvidiactl are here, but driver 580.65.06 lists no GPU"},
    {"a driver that does not start", DriverThatDoesNotStart(), kCudaBuild, Kind::kRefuse,
     Kind::kRefuse,
     "driver 580.65.06 does not start: CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized"},
    {"none visible", Showing("", NodesAndNoGpu()), kCudaBuild, Kind::kCpu, Kind::kRefuse,
     "CUDA_VISIBLE_DEVICES is '': every GPU is hidden"},
    {"-1 visible", Showing("-1", NodesAndNoGpu()), kCudaBuild, Kind::kCpu, Kind::kRefuse,
     "CUDA_VISIBLE_DEVICES is '-1': every GPU is hidden"},
    {"no device files", Showing("NoDevFiles", NodesAndNoGpu()), kCudaBuild, Kind::kCpu,
     Kind::kRefuse, "CUDA_VISIBLE_DEVICES is 'NoDevFiles': every GPU is hidden"},
    {"none visible without CUDA", Showing("", NodesAndNoGpu()), kCpuBuild, Kind::kCpu,
     Kind::kRefuse, "every GPU is hidden"},
    {"one visible", Showing("0", With({{9, 0}})), kCudaBuild, Kind::kCuda, Kind::kCuda, ""},
    {"visible up to -1", Showing("1, -1,0", With({{9, 0}})), kCudaBuild, Kind::kCuda, Kind::kCuda,
     ""},
    {"an unknown one visible", Showing("7", NodesAndNoGpu()), kCudaBuild, Kind::kRefuse,
     Kind::kRefuse, "CUDA_VISIBLE_DEVICES is '7': '7' is no GPU that the driver lists"},
    {"an unknown one behind a good one", Showing("0,7", With({{9, 0}})), kCudaBuild, Kind::kRefuse,
     Kind::kRefuse, "CUDA_VISIBLE_DEVICES is '0,7': '7' is no GPU that the driver lists"},
    {"one visible twice", Showing("0,0", NodesAndNoGpu()), kCudaBuild, Kind::kRefuse, Kind::kRefuse,
     "CUDA_VISIBLE_DEVICES is '0,0': '0' is in it twice"},
    {"a device chosen, none here", Showing("0", Empty()), kCudaBuild, Kind::kCpu, Kind::kRefuse,
     "no GPU:"},
    {"no CUDA in the build, no GPU", Empty(), kCpuBuild, Kind::kCpu, Kind::kRefuse,
     "this build has no CUDA backend"},
    {"no CUDA in the build, nodes", NodesWithoutLibrary({"/dev/nvidia0"}), kCpuBuild, Kind::kRefuse,
     Kind::kRefuse, "this build has no CUDA backend; --backend=cpu asks for the CPU"},
    {"no CUDA in the build, a GPU is listed",
     [] {
       Machine machine = With({{9, 0}});
       machine.device_nodes.clear();
       return machine;
     }(),
     kCpuBuild, Kind::kRefuse, Kind::kRefuse, "this build has no CUDA backend"},
};

TEST(DeviceChoiceTest, NeverPassesOverAGpuInSilence) {
  for (const Case& c : kCases) {
    for (const auto& [backend, kind] :
         {std::pair(Backend::kAuto, c.by_auto), std::pair(Backend::kCuda, c.by_cuda)}) {
      const DeviceChoice choice = ChooseDevices(backend, c.machine, c.build);
      const char* asked = backend == Backend::kAuto ? ", auto" : ", cuda";
      EXPECT_EQ(choice.kind, kind) << c.name << asked << ": " << choice.reason;
      EXPECT_NE(choice.reason.find(c.reason), std::string::npos)
          << c.name << asked << ": " << choice.reason;
      EXPECT_EQ(choice.reason.find('\n'), std::string::npos) << c.name << asked;
      if (kind == Kind::kRefuse) {
        EXPECT_NE(choice.reason.find("--backend=cpu asks for the CPU"), std::string::npos)
            << c.name << asked << ": " << choice.reason;
      }
      EXPECT_EQ(choice.gpus.empty(), kind != Kind::kCuda) << c.name << asked;
    }
  }
}

TEST(DeviceChoiceTest, LeavesOutTheGpuWithoutCodeAndKeepsTheNumbers) {
  const DeviceChoice choice =
      ChooseDevices(Backend::kAuto, With({{7, 0}, {9, 0}, {12, 0}}), kCudaBuild);
  EXPECT_EQ(choice.kind, Kind::kCuda);
  EXPECT_EQ(choice.gpus, (std::vector<int>{1, 2}));
  ASSERT_EQ(choice.left_out.size(), 1U);
  EXPECT_EQ(choice.left_out[0].name, "cuda:0");
  EXPECT_EQ(choice.left_out[0].why,
            "GPU 0 is sm_70; this build has code for sm_75, sm_80, sm_90, sm_100, sm_120");
}

}  // namespace
}  // namespace warpfold
