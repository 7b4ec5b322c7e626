// Which GPUs this build's kernels were compiled for (WARPFOLD_CUDA_ARCHITECTURES). Host arithmetic,
// also in builds without CUDA, whose lists are empty. Safe from any thread.
#ifndef WARPFOLD_KERNELS_CUDA_ARCHITECTURES_H_
#define WARPFOLD_KERNELS_CUDA_ARCHITECTURES_H_

#include <compare>
#include <span>
#include <string>

namespace warpfold::cuda {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  auto operator<=>(const ComputeCapability&) const = default;
};

// "sm_90".
std::string ToString(const ComputeCapability& capability);

// "sm_75, sm_80".
std::string ToString(std::span<const ComputeCapability> capabilities);

// What the kernels' fat binaries hold, each list in ascending order.
struct CompiledFor {
  std::span<const ComputeCapability> machine_code;
  std::span<const ComputeCapability> ptx;
};
// Of this build; with CUDA it lies in the library of the kernels themselves.
CompiledFor CompiledArchitectures();

// How a GPU can run the kernels.
enum class CodeMatch {
  kMachineCode,  // as they are
  kPtx,          // once the driver has compiled them, which takes minutes
  kNone
};
struct Code {
  CodeMatch match = CodeMatch::kNone;
  ComputeCapability compiled_for;  // meaningless with kNone
};
// The code that the driver takes for `gpu`: machine code runs on GPUs of its own major version and
// the same or a later minor one; PTX can be compiled for any later GPU. Source: CUDA C++
// Programming Guide, "Application Compatibility".
Code CodeFor(const ComputeCapability& gpu, const CompiledFor& compiled = CompiledArchitectures());

// "sm_75, sm_80, sm_90, sm_100, sm_120 and PTX of sm_120"; "no GPU" where both lists are empty.
std::string ToString(const CompiledFor& compiled);

}  // namespace warpfold::cuda

#endif  // WARPFOLD_KERNELS_CUDA_ARCHITECTURES_H_
