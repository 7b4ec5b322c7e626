#include "server/core/scheduling/scheduler.h"

#include <algorithm>
#include <utility>

namespace warpfold {

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(
    const std::vector<std::unique_ptr<Executor>>& executors, const SchedulerOptions& options) {
  if (executors.empty()) return absl::FailedPreconditionError("no device");
  std::vector<std::unique_ptr<DeviceScheduler>> devices;
  std::vector<std::pair<const Executor*, absl::Status>> failed;
  for (const std::unique_ptr<Executor>& executor : executors) {
    absl::StatusOr<std::unique_ptr<DeviceScheduler>> device =
        DeviceScheduler::Create(*executor, options);
    if (!device.ok()) {
      failed.emplace_back(executor.get(), device.status());
      device = DeviceScheduler::CreateLost(*executor, options);
    }
    devices.push_back(*std::move(device));
  }
  if (failed.size() == executors.size()) return failed.back().second;
  for (const auto& [executor, status] : failed) {
    if (options.on_lost) options.on_lost(executor->info(), status);
  }
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(devices)));
}

void Scheduler::Lose(const DeviceInfo& device, const absl::Status& why) { Of(device).Lose(why); }

bool Scheduler::IsLost(const DeviceInfo& device) const {
  return Of(device).state().devices_lost > 0;
}

Scheduler::~Scheduler() {
  Drain();
  // A split task goes from device to device: none may go before the others are done with it.
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](decltype(splits_)* splits) { return splits->empty(); }, &splits_));
}

Submitter& Scheduler::submitter() {
  if (devices_.size() == 1) return *devices_.front();
  return *this;
}

absl::Status Scheduler::CheckRoom(const Task& task) { return SchedulerOf(task).CheckRoom(task); }

absl::Status Scheduler::Submit(Task* task) {
  if (std::unique_ptr<SplitRun> split = Split(*this, *task); split != nullptr) {
    return SubmitSplit(task, std::move(split));
  }
  return SchedulerOf(*task).Submit(task);
}

DeviceScheduler& Scheduler::SchedulerOf(const Task& task) const {
  const DeviceInfo* device = task.device;
  return device != nullptr ? Of(*device) : LeastLoaded();
}

DeviceScheduler& Scheduler::Of(const DeviceInfo& device) const {
  return **std::find_if(devices_.begin(), devices_.end(), [&device](const auto& scheduler) {
    return &scheduler->device() == &device;
  });
}

DeviceScheduler& Scheduler::LeastLoaded() const {
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
  return *least;
}

absl::Status Scheduler::SubmitSplit(Task* task, std::unique_ptr<SplitRun> split) {
  if (absl::Status room = task->owner.MayQueue(); !room.ok()) return room;
  SplitRun& submitted = *split;
  {
    absl::MutexLock lock(&mutex_);
    splits_.emplace(task, std::move(split));
  }
  // On OK it may have ended, and be gone.
  absl::Status status = submitted.Submit();
  if (!status.ok()) Forget(*task);
  return status;
}

std::unique_ptr<SplitRun> Scheduler::Forget(const Task& task) {
  absl::MutexLock lock(&mutex_);
  const auto found = splits_.find(&task);
  if (found == splits_.end()) return nullptr;
  std::unique_ptr<SplitRun> split = std::move(found->second);
  splits_.erase(found);
  return split;
}

absl::Status Scheduler::SubmitTo(const DeviceInfo& device, Task* task) {
  return Of(device).Submit(task);
}

bool Scheduler::WithdrawFrom(const DeviceInfo& device, Task* task) {
  return Of(device).Withdraw(task);
}

void Scheduler::End(Task& task, TaskReport report) {
  const std::unique_ptr<SplitRun> split = Forget(task);
  task.owner.OnDone(std::move(report));
}

bool Scheduler::Withdraw(Task* task) {
  {
    absl::MutexLock lock(&mutex_);
    const auto split = splits_.find(task);
    if (split != splits_.end()) {
      const bool withdrawn = split->second->Withdraw();
      if (withdrawn) splits_.erase(split);
      return withdrawn;
    }
  }
  return std::any_of(
      devices_.begin(), devices_.end(),
      [task](const std::unique_ptr<DeviceScheduler>& device) { return device->Withdraw(task); });
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
    sum.workers_in_use += state.workers_in_use;
    sum.workers += state.workers;
    sum.devices_lost += state.devices_lost;
    sum.refused_queue += state.refused_queue;
  }
  return sum;
}

}  // namespace warpfold
