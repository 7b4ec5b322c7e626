// What a server needs of its host, besides devices: open files, memory, ports, certificates, a
// folder for compiled kernels.
//
// Each function adds its findings to `report`, and leaves nothing behind.
#ifndef WARPFOLD_SERVER_CHECK_HOST_CHECKS_H_
#define WARPFOLD_SERVER_CHECK_HOST_CHECKS_H_

#include "server/check/report.h"
#include "server/config.h"
#include "server/memory_limit.h"

namespace warpfold {

// `files`: the most that the process may have open, the hard limit.
void CheckOpenFiles(std::int64_t files, CheckReport& report);

// Compares what the server sets aside for `device_count` devices of `backend` with `limit`.
void CheckMemory(const Config& config, Backend backend, int device_count, const MemoryLimit& limit,
                 CheckReport& report);

// Whether the process may have so many threads. Starts and ends them.
void CheckThreads(int count, CheckReport& report);

// Whether the ports are free, and who holds those that are not.
void CheckPorts(const Config& config, CheckReport& report);

void CheckTls(const Config& config, CheckReport& report);
void CheckCallers(const Config& config, CheckReport& report);

// Whether --port-file, if there is one, can be written.
void CheckPortFile(const Config& config, CheckReport& report);

// For a GPU whose kernels the driver compiles.
void CheckKernelCache(CheckReport& report);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CHECK_HOST_CHECKS_H_
