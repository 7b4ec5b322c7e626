// Two devices, of which each SIGUSR1 loses one: warpfold-server linked with this is the real one on
// hardware that breaks.
#include <atomic>
#include <csignal>

#include "server/device/backend/backend.h"
#include "tests/server/faulty_device.h"

namespace warpfold {
namespace {

FaultyDevice* left[2];
std::atomic<int> lost{0};

void LoseOne(int /*signal*/) {
  const int next = lost.fetch_add(1);
  if (next < 2) left[next]->Lose();
}

}  // namespace

absl::StatusOr<Devices> OpenDevices(Backend /*backend*/, const WorkerOptions& /*options*/) {
  Devices devices{.reason = "a test", .executors = {}};
  for (FaultyDevice*& device : left) {
    auto made = std::make_unique<FaultyDevice>(&device == &left[0] ? "cuda:0" : "cuda:1");
    device = made.get();
    devices.executors.push_back(std::move(made));
  }
  std::signal(SIGUSR1, LoseOne);
  return devices;
}

}  // namespace warpfold
