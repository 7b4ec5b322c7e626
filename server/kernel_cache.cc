#include "server/kernel_cache.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace warpfold {
namespace {

std::string CacheVariable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The driver makes folders that are missing: the nearest one that is there has to take them.
std::string WhyNotWritable(const std::filesystem::path& folder) {
  std::filesystem::path existing = folder;
  std::error_code error;
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  if (!std::filesystem::is_directory(existing, error)) {
    return absl::StrCat(existing.string(), " is no folder");
  }
  if (access(existing.c_str(), W_OK | X_OK) == 0) return "";
  return absl::StrCat(existing.string(), ": ", std::strerror(errno));
}

}  // namespace

KernelCache FindKernelCache() {
  if (CacheVariable("CUDA_CACHE_DISABLE") == "1") return {.problem = "CUDA_CACHE_DISABLE is 1"};
  KernelCache cache{.folder = CacheVariable("CUDA_CACHE_PATH")};
  if (cache.folder.empty()) {
    const std::string home = CacheVariable("HOME");
    if (home.empty()) return {.problem = "neither CUDA_CACHE_PATH nor HOME is set"};
    cache.folder = absl::StrCat(home, "/.nv/ComputeCache");
  }
  cache.problem = WhyNotWritable(cache.folder);
  return cache;
}

}  // namespace warpfold
