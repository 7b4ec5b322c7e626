#include "server/device/cpu/cpu_executor.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "server/device/cpu/cpu_worker.h"
#include "server/device/cpu/host_memory.h"

namespace warpfold {
namespace {

// "model name : AMD EPYC ..." on x86; other processors do not say.
std::string ProcessorModel() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

CpuExecutor::CpuExecutor(const WorkerOptions& options) : options_(options) {
  info_.name = "cpu";
  info_.model = ProcessorModel();
  info_.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

absl::StatusOr<std::unique_ptr<Worker>> CpuExecutor::MakeWorker() {
  return std::make_unique<CpuWorker>(options_, use_);
}

absl::StatusOr<std::unique_ptr<TensorMemory>> CpuExecutor::AllocateTensor(std::size_t size_bytes) {
  return HostMemory::Allocate(size_bytes);
}

}  // namespace warpfold
