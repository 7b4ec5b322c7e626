#include "kernels/cuda/architectures.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace warpfold::cuda {

std::string ToString(const ComputeCapability& capability) {
  return absl::StrCat("sm_", capability.major, capability.minor);
}

std::string ToString(std::span<const ComputeCapability> capabilities) {
  return absl::StrJoin(capabilities, ", ", [](std::string* out, const ComputeCapability& each) {
    absl::StrAppend(out, ToString(each));
  });
}

Code CodeFor(const ComputeCapability& gpu, const CompiledFor& compiled) {
  Code code;
  // Both lists ascend: the last that fits is the best.
  for (const ComputeCapability& each : compiled.ptx) {
    if (each <= gpu) code = {CodeMatch::kPtx, each};
  }
  for (const ComputeCapability& each : compiled.machine_code) {
    if (each.major == gpu.major && each.minor <= gpu.minor) code = {CodeMatch::kMachineCode, each};
  }
  return code;
}

std::string ToString(const CompiledFor& compiled) {
  if (compiled.machine_code.empty() && compiled.ptx.empty()) return "no GPU";
  if (compiled.ptx.empty()) return ToString(compiled.machine_code);
  const std::string ptx = absl::StrCat("PTX of ", ToString(compiled.ptx));
  return compiled.machine_code.empty()
             ? ptx
             : absl::StrCat(ToString(compiled.machine_code), " and ", ptx);
}

}  // namespace warpfold::cuda
