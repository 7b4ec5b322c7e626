// Which devices `--backend` comes to on a machine: a pure function of what was asked, what the
// machine says (machine.h) and what this build holds (build.h).
//
// A GPU is never passed over in silence: where one is present, or seems to be, and cannot be used,
// the choice is to refuse, with what is there and what would be needed.
#ifndef WARPFOLD_SERVER_DEVICE_BACKEND_DEVICE_CHOICE_H_
#define WARPFOLD_SERVER_DEVICE_BACKEND_DEVICE_CHOICE_H_

#include <string>
#include <vector>

#include "server/device/backend/build.h"
#include "server/device/backend/machine.h"

namespace warpfold {

// The end of every refusal.
inline constexpr char kAskForCpu[] = "; --backend=cpu asks for the CPU";

// What --backend asks for.
enum class Backend { kAuto, kCuda, kCpu };

// "cuda"
const char* Name(Backend backend);

// A GPU that does not serve.
struct LeftOut {
  std::string name;  // "cuda:0"
  std::string why;   // "GPU 0 is sm_70; this build has code for sm_75, sm_80"
};

struct DeviceChoice {
  enum class Kind { kCuda, kCpu, kRefuse };
  Kind kind = Kind::kRefuse;
  std::string reason;             // of the CPU or the refusal: one line
  std::vector<int> gpus;          // of kCuda: those to open, by their index
  std::vector<LeftOut> left_out;  // those that have no code in this build
};

// REQUIRES: `backend` is kAuto or kCuda; kCpu asks no machine.
DeviceChoice ChooseDevices(Backend backend, const Machine& machine, const Build& build);

// "GPU 0 is sm_70; this build has code for sm_75, sm_80"; empty where the build has code for it.
std::string WhyNoCode(const Gpu& gpu, const Build& build);

// "driver 550.54 is too old for CUDA 13 (needs 580)"; empty where it is new enough.
std::string WhyTooOld(const Machine& machine, const Build& build);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_DEVICE_BACKEND_DEVICE_CHOICE_H_
