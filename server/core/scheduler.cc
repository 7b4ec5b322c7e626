#include "server/core/scheduler.h"

#include <algorithm>
#include <utility>

#include "server/core/known_answer.h"

namespace warpfold {

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(
    const std::vector<std::unique_ptr<Executor>>& executors, const SchedulerOptions& options) {
  if (executors.empty()) return absl::FailedPreconditionError("no device");
  std::vector<std::unique_ptr<DeviceScheduler>> devices;
  for (const std::unique_ptr<Executor>& executor : executors) {
    absl::StatusOr<std::unique_ptr<DeviceScheduler>> device =
        DeviceScheduler::Create(*executor, options);
    if (!device.ok()) return device.status();
    devices.push_back(*std::move(device));
  }
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(devices)));
}

absl::Status Scheduler::CheckKnownAnswers() {
  for (const std::unique_ptr<DeviceScheduler>& device : devices_) {
    if (absl::Status status = CheckKnownAnswer(*device); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Scheduler::Submit(Work* work) {
  if (devices_.size() == 1) return devices_.front()->Submit(work);
  if (const DeviceInfo* home = work->device(); home != nullptr) {
    for (const std::unique_ptr<DeviceScheduler>& device : devices_) {
      if (&device->device() == home) return device->Submit(work);
    }
  }
  // Loads may change between the look and the submit; a choice that is off by one is as good.
  DeviceScheduler* least = nullptr;
  SchedulerState least_state;
  for (const std::unique_ptr<DeviceScheduler>& device : devices_) {
    const SchedulerState state = device->state();
    if (least == nullptr || std::pair(state.devices_lost, state.load()) <
                                std::pair(least_state.devices_lost, least_state.load())) {
      least = device.get();
      least_state = state;
    }
  }
  return least->Submit(work);
}

bool Scheduler::Withdraw(Work* work) {
  return std::any_of(
      devices_.begin(), devices_.end(),
      [work](const std::unique_ptr<DeviceScheduler>& device) { return device->Withdraw(work); });
}

void Scheduler::SetQueueDepthMax(int queue_depth_max) {
  for (const std::unique_ptr<DeviceScheduler>& device : devices_) {
    device->SetQueueDepthMax(queue_depth_max);
  }
}

void Scheduler::Drain() {
  for (const std::unique_ptr<DeviceScheduler>& device : devices_) device->Drain();
}

SchedulerState Scheduler::state() const {
  SchedulerState sum;
  for (const std::unique_ptr<DeviceScheduler>& device : devices_) {
    const SchedulerState state = device->state();
    sum.queued += state.queued;
    sum.lanes_in_use += state.lanes_in_use;
    sum.lanes += state.lanes;
    sum.devices_lost += state.devices_lost;
    sum.refused_queue += state.refused_queue;
  }
  return sum;
}

}  // namespace warpfold
