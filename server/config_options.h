// The table of every option, from which the flags, the keys of the --config file, the WARPFOLD_*
// variables (config_flags.h), the checks, --print-config and docs/configuration.md (option_text.h)
// are made.
//
// Pure functions, safe from any thread.
#ifndef WARPFOLD_SERVER_CONFIG_OPTIONS_H_
#define WARPFOLD_SERVER_CONFIG_OPTIONS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "server/config.h"

namespace warpfold {

// Whether a running server takes a new value on SIGHUP.
enum class Change { kAtStart, kOnReload };

struct ConfigOption {
  const char* name;  // "staging-buffer-bytes": the file's key, --staging-buffer-bytes,
                     // WARPFOLD_STAGING_BUFFER_BYTES
  std::variant<std::string Config::*, int Config::*, std::int64_t Config::*, Backend Config::*,
               LogLevel Config::*, LogFormat Config::*, Compression Config::*, Switch Config::*>
      field;
  const char* unit;  // "bytes", "ms", ...; empty for what has none
  Change change;
  const char* meaning;
  // The least and the largest value of a number.
  std::int64_t low = 0;
  std::int64_t high = 0;
};

absl::Span<const ConfigOption> ConfigOptions();

// Options of one topic, which stand together in the table, from `first` on.
struct OptionSection {
  const char* title;
  const char* first;
};
absl::Span<const OptionSection> OptionSections();

// The title of the section that begins with `option`; null: it goes on with the one before.
const char* SectionBegunBy(const ConfigOption& option);

// WARPFOLD_STAGING_BUFFER_BYTES for "staging-buffer-bytes".
std::string EnvironmentName(const char* name);

// What is wrong with the value of a number: "-1 is not between 0 and 1024"; empty: nothing.
std::string RangeProblem(const ConfigOption& option, std::int64_t value);

// The names of the options whose values differ and that change as `change` says.
std::vector<std::string> Differing(const Config& a, const Config& b, Change change);

// Gives `config` the values of `next` that a running server takes.
void TakeReloadable(const Config& next, Config& config);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CONFIG_OPTIONS_H_
