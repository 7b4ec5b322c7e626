// What a server needs of its host, besides devices: open files, memory, ports, certificates, a
// folder for compiled kernels.
//
// Each function adds its findings to `report`, and leaves nothing behind.
#ifndef WARPFOLD_SERVER_CHECK_HOST_CHECKS_H_
#define WARPFOLD_SERVER_CHECK_HOST_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/check/report.h"
#include "server/config.h"

namespace warpfold {

// `files`: the most that the process may have open, the hard limit.
void CheckOpenFiles(std::int64_t files, CheckReport& report);

// The memory that the system lets this process's control group have (v2 or v1, below `root`); none
// where it sets no limit.
std::optional<std::int64_t> CgroupMemoryLimit(const std::string& root = "/sys/fs/cgroup");

// Compares `limit_bytes` with what the server takes for `device_count` devices of `backend`.
void CheckMemory(const Config& config, Backend backend, int device_count,
                 std::optional<std::int64_t> limit_bytes, CheckReport& report);

// Whether the process may have so many threads. Starts and ends them.
void CheckThreads(int count, CheckReport& report);

// Whether the ports are free, and who holds those that are not.
void CheckPorts(const Config& config, CheckReport& report);

void CheckTls(const Config& config, CheckReport& report);

// Whether --port-file, if there is one, can be written.
void CheckPortFile(const Config& config, CheckReport& report);

// For a GPU whose kernels the driver compiles.
void CheckKernelCache(CheckReport& report);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CHECK_HOST_CHECKS_H_
