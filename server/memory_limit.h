// How much memory the system lets this process have, where that is written, and how much of it is
// taken.
//
// Reads files of the kernel's: a control group's (v2, or v1 beside it) and those of all groups
// above, or else the machine's. Any thread.
#ifndef WARPFOLD_SERVER_MEMORY_LIMIT_H_
#define WARPFOLD_SERVER_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace warpfold {

// Where the kernel shows them; a test has folders of its own.
struct KernelFolders {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

struct MemoryLimit {
  enum class Of { kMachine, kGroupV1, kGroupV2 };

  std::int64_t bytes = 0;
  std::string source;  // "memory.max of /sys/fs/cgroup/user.slice"
  Of of = Of::kMachine;
  std::string folder;  // of the group; empty: the machine's
};

// The least of all that hold for this process: memory.max and memory.high of its group and of each
// above, and the machine's memory.
MemoryLimit ReadMemoryLimit(const KernelFolders& folders = {});

// What counts against `limit`, without the files that the kernel gives up first: the group's
// memory, or this process' resident memory. 0: not known.
std::int64_t ReadUsedMemory(const MemoryLimit& limit, const KernelFolders& folders = {});

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_MEMORY_LIMIT_H_
