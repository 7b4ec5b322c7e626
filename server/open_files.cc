#include "server/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

std::int64_t ToNumber(rlim_t limit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return limit < static_cast<rlim_t>(kMost) ? static_cast<std::int64_t>(limit) : kMost;
}

}  // namespace

OpenFiles OpenFilesLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return {.soft = ToNumber(limit.rlim_cur), .hard = ToNumber(limit.rlim_max)};
}

absl::Status CheckEnoughOpenFiles(std::int64_t open_files) {
  if (open_files >= kOpenFilesNeeded) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "open files: the system lets this process have up to ", open_files, ", and it needs ",
      kOpenFilesNeeded, "; raise the hard limit (ulimit -Hn, LimitNOFILE=, --ulimit nofile=)"));
}

std::int64_t RaiseOpenFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return OpenFilesLimit().soft;
}

std::int64_t RegionsThatFit(std::int64_t open_files) {
  return std::max<std::int64_t>(1, open_files / 4);
}

std::int64_t ConnectionsThatFit(std::int64_t open_files) {
  constexpr std::int64_t kFew = 2;
  constexpr std::int64_t kOfEach = 2;
  return std::max(kFew, (open_files - kOpenFilesNeeded) / 2 / kOfEach);
}

}  // namespace warpfold
