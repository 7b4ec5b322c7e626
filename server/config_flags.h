// Config from flags, the --config file and WARPFOLD_* variables, which win in this order over the
// defaults of config.h. A key that is no option is refused.
#ifndef WARPFOLD_SERVER_CONFIG_FLAGS_H_
#define WARPFOLD_SERVER_CONFIG_FLAGS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/config.h"

namespace CLI {
class App;
}

namespace warpfold {

// Declares the flags and --config, or WARPFOLD_CONFIG, on `app`, bound to `config`, which must
// outlive the parse.
void AddFlags(CLI::App& app, Config& config);

// Parses the flags after argv[0], and validates `config`, to which AddFlags has bound `app`.
// INVALID_ARGUMENT names the option, and the file or the variable that its value comes from.
// Throws CLI::Success where help or the version was asked for.
absl::Status ParseFlags(CLI::App& app, int argc, const char* const* argv, const Config& config);

// The same again, of a running server.
absl::StatusOr<Config> ReadConfig(int argc, const char* const* argv);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CONFIG_FLAGS_H_
