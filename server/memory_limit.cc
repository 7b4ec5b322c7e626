#include "server/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace warpfold {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// "max" and what is not there are no number.
std::optional<std::int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  std::int64_t number = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &number) || number < 0) return std::nullopt;
  return number;
}

// The number behind `name` in lines of a name and a number: memory.stat, meminfo.
std::int64_t NumberAfter(const std::string& path, absl::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    std::int64_t number = 0;
    if (!absl::ConsumePrefix(&rest, name)) continue;
    rest = rest.substr(0, rest.find(" kB"));
    if (absl::SimpleAtoi(rest, &number)) return number;  // which skips blanks
  }
  return 0;
}

// This process' path in the hierarchy of `controllers`: "" of v2, "memory" of v1. None: it is in no
// such hierarchy.
std::optional<std::string> GroupPath(const std::string& proc, absl::string_view controllers) {
  std::ifstream file(proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:memory:/docker/1a2b", "0::/docker/1a2b"
    const std::size_t names = line.find(':') + 1;
    const std::size_t path = line.find(':', names) + 1;
    if (names == 0 || path == 0) continue;
    if (absl::string_view(line).substr(names, path - 1 - names) == controllers) {
      return line.substr(path);
    }
  }
  return std::nullopt;
}

void TakeLess(const std::string& folder, const char* file, MemoryLimit::Of of, MemoryLimit& least) {
  const std::optional<std::int64_t> bytes = ReadNumber(absl::StrCat(folder, "/", file));
  if (!bytes.has_value() || *bytes >= least.bytes) return;
  least = {*bytes, absl::StrCat(file, " of ", folder), of, folder};
}

// Of the group at `path` below `root` and of all above. In a container the root may be the group
// itself, and the path one that is not seen there.
void TakeLessOfGroups(const std::string& root, std::string path, MemoryLimit::Of of,
                      MemoryLimit& least) {
  while (absl::EndsWith(path, "/")) path.pop_back();
  // Outside of what is seen here.
  if (!absl::StartsWith(path, "/") || absl::StrContains(path, "/..")) path.clear();
  while (true) {
    if (of == MemoryLimit::Of::kGroupV2) {
      TakeLess(root + path, "memory.max", of, least);
      TakeLess(root + path, "memory.high", of, least);
    } else {
      TakeLess(root + path, "memory.limit_in_bytes", of, least);
    }
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

std::int64_t ResidentBytes(const std::string& proc) {
  std::ifstream statm(proc + "/self/statm");
  std::int64_t pages_virtual = 0;
  std::int64_t pages_resident = 0;
  statm >> pages_virtual >> pages_resident;
  return pages_resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

MemoryLimit ReadMemoryLimit(const KernelFolders& folders) {
  const std::string meminfo = folders.proc + "/meminfo";
  MemoryLimit least{.bytes = NumberAfter(meminfo, "MemTotal:") << 10,
                    .source = "the machine's memory"};
  if (least.bytes == 0) least.bytes = kNoLimit;
  if (const auto path = GroupPath(folders.proc, ""); path.has_value()) {
    TakeLessOfGroups(folders.cgroup, *path, MemoryLimit::Of::kGroupV2, least);
  }
  if (const auto path = GroupPath(folders.proc, "memory"); path.has_value()) {
    TakeLessOfGroups(folders.cgroup + "/memory", *path, MemoryLimit::Of::kGroupV1, least);
  }
  return least;
}

std::int64_t ReadUsedMemory(const MemoryLimit& limit, const KernelFolders& folders) {
  if (limit.of == MemoryLimit::Of::kMachine) return ResidentBytes(folders.proc);
  const bool is_v2 = limit.of == MemoryLimit::Of::kGroupV2;
  const std::int64_t used =
      ReadNumber(limit.folder + (is_v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  const std::int64_t files =
      NumberAfter(limit.folder + "/memory.stat", is_v2 ? "inactive_file " : "total_inactive_file ");
  return std::max<std::int64_t>(0, used - files);
}

}  // namespace warpfold
