// The file of --config: what is taken is valid, and is the same when it is printed and read again.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "server/config_flags.h"
#include "server/option_text.h"
#include "tests/fuzz/fuzz.h"

namespace warpfold {
namespace {

// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text) : descriptor_(memfd_create("config", MFD_CLOEXEC)) {
    fuzz::Require(write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                  "a file can be written");
  }
  ~MemoryFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

absl::StatusOr<Config> Read(const std::string& text) {
  const MemoryFile file(text);
  const std::string flag = "--config=" + file.path();
  const char* const arguments[] = {"warpfold-server", flag.c_str()};
  return ReadConfig(2, arguments);
}

void Try(const std::string& text) {
  const absl::StatusOr<Config> config = Read(text);
  if (!config.ok()) {
    fuzz::Require(absl::IsInvalidArgument(config.status()), config.status().ToString());
    return;
  }
  fuzz::Require(!config->FindBad().has_value(), "what is taken is valid");
  const std::string printed = ToFile(*config);
  const absl::StatusOr<Config> again = Read(printed);
  fuzz::Require(again.ok() && ToFile(*again) == printed, "what is printed reads the same");
}

}  // namespace
}  // namespace warpfold

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  warpfold::Try(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
