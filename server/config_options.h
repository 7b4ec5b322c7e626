// Config as text: one table of every option, from which the flags, the keys of the --config file,
// the WARPFOLD_* variables, the checks, --print-config and docs/configuration.md are made.
//
// Flags win over the file, the file over the environment, that over the defaults of config.h. A key
// that is not in the table is refused. Pure functions but for the file and the environment that
// ReadConfig reads; safe from any thread.
#ifndef WARPFOLD_SERVER_CONFIG_OPTIONS_H_
#define WARPFOLD_SERVER_CONFIG_OPTIONS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/config.h"

namespace CLI {
class App;
}

namespace warpfold {

// Whether a running server takes a new value on SIGHUP.
enum class Change { kAtStart, kOnReload };

struct ConfigOption {
  const char* name;  // "slab-bytes": the file's key, --slab-bytes, WARPFOLD_SLAB_BYTES
  std::variant<std::string Config::*, int Config::*, std::int64_t Config::*, Backend Config::*,
               LogLevel Config::*, LogFormat Config::*, Compression Config::*>
      field;
  const char* unit;  // "bytes", "ms", ...; empty for what has none
  Change change;
  const char* meaning;
  // The least and the largest value of a number.
  std::int64_t low = 0;
  std::int64_t high = 0;
};

absl::Span<const ConfigOption> ConfigOptions();

// Declares the flags and --config, or WARPFOLD_CONFIG, on `app`, bound to `config`, which must
// outlive the parse.
void AddFlags(CLI::App& app, Config& config);

// Parses the flags after argv[0]. Throws CLI::ParseError.
void ParseFlags(CLI::App& app, int argc, const char* const* argv);

// Reads the flags after argv[0], the environment and the file again, and validates.
// INVALID_ARGUMENT names what is wrong.
absl::StatusOr<Config> ReadConfig(int argc, const char* const* argv);

// Every option with its value, as a file that --config reads.
std::string ToFile(const Config& config);

// The names of the options whose values differ and that change as `change` says.
std::vector<std::string> Differing(const Config& a, const Config& b, Change change);

// Gives `config` the values of `next` that a running server takes.
void TakeReloadable(const Config& next, Config& config);

// The table of docs/configuration.md.
std::string OptionsPage();

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CONFIG_OPTIONS_H_
