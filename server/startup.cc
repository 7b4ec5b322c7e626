#include "server/startup.h"

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/types.h"
#include "server/core/self_test/known_answer.h"
#include "server/kernel_cache.h"

namespace warpfold {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t MsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

absl::Status CheckStop(const StartupParts& parts) {
  if (parts.stop_requested && parts.stop_requested()) {
    return absl::CancelledError("stopped while starting");
  }
  return absl::OkStatus();
}

// Says where compiled kernels are kept, and in a line of its own why they are not.
void LogCompiling(const StartupParts& parts, const Executor& executor, const std::string& stage) {
  const KernelCache cache = FindKernelCache();
  parts.log.Write(LogLevel::kInfo, stage,
                  {{"device", executor.info().name}, {"cache", cache.folder}});
  if (!cache.problem.empty()) {
    parts.log.Write(LogLevel::kWarning,
                    "compiled kernels are not kept: every start compiles them again",
                    {{"cache", cache.folder}, {"status", cache.problem}});
  }
}

absl::Status LoadKernels(const StartupParts& parts, Executor& executor) {
  const std::string target = executor.compiles_for();
  const std::string stage = target.empty()
                                ? "loading kernels"
                                : absl::StrCat("compiling kernels for ", target, ", minutes, once");
  parts.admission.HoldBack(stage);
  if (!target.empty()) LogCompiling(parts, executor, stage);
  std::int64_t done = 0;
  for (const DType dtype : kAllDTypes) {
    if (absl::Status stop = CheckStop(parts); !stop.ok()) return stop;
    const Clock::time_point start = Clock::now();
    if (absl::Status status = executor.LoadKernels(dtype); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("kernels of ", Name(dtype), ": ", status.message()));
    }
    parts.log.Write(target.empty() ? LogLevel::kDebug : LogLevel::kInfo, "kernels loaded",
                    {{"device", executor.info().name},
                     {"dtype", Name(dtype)},
                     {"done", ++done},
                     {"of", std::size(kAllDTypes)},
                     {"took_ms", MsSince(start)}});
  }
  return absl::OkStatus();
}

absl::Status CheckAnswers(const StartupParts& parts, const Executor& executor) {
  parts.admission.HoldBack(absl::StrCat("checking ", executor.info().name));
  Submitter& device = parts.scheduler.SubmitterOf(executor.info());
  for (const DType dtype : kAllDTypes) {
    if (absl::Status stop = CheckStop(parts); !stop.ok()) return stop;
    if (absl::Status status = CheckKnownAnswers(device, dtype); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status MakeReady(const StartupParts& parts, Executor& executor) {
  const Clock::time_point start = Clock::now();
  if (absl::Status status = LoadKernels(parts, executor); !status.ok()) return status;
  const std::int64_t kernels_ms = MsSince(start);
  const Clock::time_point loaded = Clock::now();
  if (absl::Status status = CheckAnswers(parts, executor); !status.ok()) return status;
  parts.log.Write(LogLevel::kInfo, "device ready",
                  {{"name", executor.info().name},
                   {"kernels_ms", kernels_ms},
                   {"self_test_ms", MsSince(loaded)}});
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeDevicesReady(const StartupParts& parts) {
  absl::Status failed = absl::UnavailableError("no device is left");
  bool has_ready = false;
  for (const std::unique_ptr<Executor>& executor : parts.executors) {
    if (parts.scheduler.IsLost(executor->info())) continue;
    absl::Status status = MakeReady(parts, *executor);
    if (absl::IsCancelled(status)) return status;
    if (status.ok()) {
      has_ready = true;
      continue;
    }
    failed =
        absl::Status(status.code(), absl::StrCat(executor->info().name, ": ", status.message()));
    parts.scheduler.Lose(executor->info(), status);
  }
  return has_ready ? absl::OkStatus() : failed;
}

}  // namespace warpfold
