#include "server/device/backend/device_choice.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace warpfold {
namespace {

// The oldest driver that serves a major version of CUDA.
int OldestDriver(int cuda_major) {
  switch (cuda_major) {
    case 11:
      return 450;
    case 12:
      return 525;
    default:
      return 580;  // 13
  }
}

DeviceChoice Cpu(std::string reason) {
  return {.kind = DeviceChoice::Kind::kCpu, .reason = std::move(reason)};
}

DeviceChoice Refuse(absl::string_view reason) {
  return {.kind = DeviceChoice::Kind::kRefuse, .reason = absl::StrCat(reason, kAskForCpu)};
}

// The entries of CUDA_VISIBLE_DEVICES that count: the list ends at what can be no device.
std::vector<std::string> VisibleEntries(const std::string& list) {
  std::vector<std::string> entries;
  for (absl::string_view entry : absl::StrSplit(list, ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry.empty() || entry == "-1" || entry == "NoDevFiles") break;
    entries.emplace_back(entry);
  }
  return entries;
}

bool HidesAll(const Machine& machine) {
  return machine.visible_devices.has_value() && VisibleEntries(*machine.visible_devices).empty();
}

std::string DriverName(const Machine& machine) {
  return machine.driver_version.empty() ? "the driver"
                                        : absl::StrCat("driver ", machine.driver_version);
}

std::string NodeNames(const Machine& machine) {
  return absl::StrCat(absl::StrJoin(machine.device_nodes, ", "),
                      machine.device_nodes.size() > 1 ? " are here" : " is here");
}

// The first entry of CUDA_VISIBLE_DEVICES that the driver does not know: it shows the GPUs before
// it alone, and none where an entry comes twice.
std::optional<std::string> UnknownEntry(const Machine& machine) {
  if (!machine.visible_devices.has_value()) return std::nullopt;
  if (!machine.init_problem.empty() && !machine.lists_no_gpu) return std::nullopt;
  const std::vector<std::string> entries = VisibleEntries(*machine.visible_devices);
  std::set<std::string> seen;
  for (const std::string& entry : entries) {
    if (!seen.insert(entry).second) return absl::StrCat("'", entry, "' is in it twice");
  }
  if (machine.gpus.size() >= entries.size()) return std::nullopt;
  return absl::StrCat("'", entries[machine.gpus.size()], "' is no GPU that the driver lists");
}

// Why the driver, which is there, cannot be used; none when it can.
std::optional<std::string> DriverProblem(const Machine& machine, const Build& build) {
  if (!machine.has_gpu()) {
    return absl::StrCat(
        "libcuda.so.1 is here, but no GPU's device node (/dev/nvidia*, /dev/dxg), "
        "and it lists no GPU",
        machine.init_problem.empty() ? "" : " (", machine.init_problem,
        machine.init_problem.empty() ? "" : ")", ": a container needs --gpus all");
  }
  if (std::string too_old = WhyTooOld(machine, build); !too_old.empty()) return too_old;
  if (const std::optional<std::string> unknown = UnknownEntry(machine); unknown.has_value()) {
    return absl::StrCat("CUDA_VISIBLE_DEVICES is '", *machine.visible_devices, "': ", *unknown);
  }
  if (machine.lists_no_gpu) {
    return absl::StrCat(NodeNames(machine), ", but ", DriverName(machine),
                        " lists no GPU: see what nvidia-smi says, and whether a container may "
                        "open the device nodes");
  }
  if (!machine.init_problem.empty()) {
    return absl::StrCat(DriverName(machine), " does not start: ", machine.init_problem,
                        ": see what nvidia-smi says");
  }
  return std::nullopt;
}

// What there is of PTX where that is all.
std::string CodeNames(const cuda::CompiledFor& compiled) {
  return compiled.machine_code.empty() ? cuda::ToString(compiled)
                                       : cuda::ToString(compiled.machine_code);
}

DeviceChoice ChooseWithoutLibrary(Backend backend, const Machine& machine, const Build& build) {
  if (machine.library_is_broken) {
    return Refuse(absl::StrCat("libcuda.so.1 is here, but cannot be used (",
                               machine.library_problem, "): install driver ",
                               OldestDriver(build.cuda_major), " or newer"));
  }
  if (machine.has_gpu()) {
    return Refuse(absl::StrCat(NodeNames(machine), ", but the driver's library is not (",
                               machine.library_problem, "): install driver ",
                               OldestDriver(build.cuda_major),
                               " or newer, or start the container with --gpus all"));
  }
  constexpr char kNone[] = "no GPU: no /dev/nvidia*, no /dev/dxg and no libcuda.so.1";
  return backend == Backend::kCuda ? Refuse(kNone) : Cpu(kNone);
}

DeviceChoice ChooseWithoutCuda(Backend backend, const Machine& machine) {
  constexpr char kNoCuda[] = "this build has no CUDA backend";
  if (backend == Backend::kCuda) return Refuse(kNoCuda);
  if (!machine.has_gpu()) return Cpu("no GPU, and this build has no CUDA backend");
  return Refuse(absl::StrCat(machine.gpus.empty() ? NodeNames(machine) : "the driver lists a GPU",
                             ", but ", kNoCuda));
}

}  // namespace

const char* Name(Backend backend) {
  switch (backend) {
    case Backend::kAuto:
      return "auto";
    case Backend::kCuda:
      return "cuda";
    case Backend::kCpu:
      return "cpu";
  }
  __builtin_unreachable();
}

std::string WhyNoCode(const Gpu& gpu, const Build& build) {
  if (gpu.capability.major == 0) {
    return absl::StrCat("GPU ", gpu.index, " does not answer the driver");
  }
  if (cuda::CodeFor(gpu.capability, build.compiled).match != cuda::CodeMatch::kNone) return "";
  return absl::StrCat("GPU ", gpu.index, " is ", cuda::ToString(gpu.capability),
                      "; this build has code for ", CodeNames(build.compiled));
}

std::string WhyTooOld(const Machine& machine, const Build& build) {
  if (machine.driver_cuda == 0 || machine.driver_cuda / 1000 >= build.cuda_major) return "";
  return absl::StrCat(DriverName(machine), " is too old for CUDA ", build.cuda_major, " (needs ",
                      OldestDriver(build.cuda_major), ")");
}

DeviceChoice ChooseDevices(Backend backend, const Machine& machine, const Build& build) {
  if (HidesAll(machine)) {
    const std::string hidden = absl::StrCat("CUDA_VISIBLE_DEVICES is '", *machine.visible_devices,
                                            "': every GPU is hidden");
    return backend == Backend::kCuda ? Refuse(hidden) : Cpu(hidden);
  }
  if (!build.has_cuda) return ChooseWithoutCuda(backend, machine);
  if (!machine.has_driver_library) return ChooseWithoutLibrary(backend, machine, build);
  if (std::optional<std::string> problem = DriverProblem(machine, build); problem.has_value()) {
    return Refuse(*problem);
  }
  DeviceChoice choice{.kind = DeviceChoice::Kind::kCuda};
  std::vector<std::string> reasons;
  for (const Gpu& gpu : machine.gpus) {
    if (const std::string why = WhyNoCode(gpu, build); !why.empty()) {
      choice.left_out.push_back({absl::StrCat("cuda:", gpu.index), why});
      reasons.push_back(why);
    } else {
      choice.gpus.push_back(gpu.index);
    }
  }
  if (choice.gpus.empty()) return Refuse(absl::StrJoin(reasons, ". "));
  return choice;
}

}  // namespace warpfold
