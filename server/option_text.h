// The values of options as text: read from flags, file and environment, printed by --print-config
// and in docs/configuration.md.
//
// Pure functions, safe from any thread.
#ifndef WARPFOLD_SERVER_OPTION_TEXT_H_
#define WARPFOLD_SERVER_OPTION_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/config.h"
#include "server/config_options.h"

namespace warpfold {

// Turns `text`, as a person writes the option's value ("4MiB", "cuda"), into the number that CLI11
// converts. Returns what is wrong with it, "'4XB' is no size: ..."; empty: nothing.
std::string ReadText(const ConfigOption& option, std::string& text);

// "4MiB" as 4194304: how sizes of options, and of the file of callers, are read. None: no size.
std::optional<std::int64_t> ReadSize(const std::string& text);

// As a person writes it: "4MiB" for 4194304.
std::string ValueText(const ConfigOption& option, const Config& config);

// "auto|cpu|cuda" of a choice; empty for others.
std::string ChoiceNames(const ConfigOption& option);

// Every option with its value, as a file that --config reads.
std::string ToFile(const Config& config);

// The table of docs/configuration.md.
std::string OptionsPage();

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OPTION_TEXT_H_
