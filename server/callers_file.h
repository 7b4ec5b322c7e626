// The file of callers that an operator names (--callers-file).
#ifndef WARPFOLD_SERVER_CALLERS_FILE_H_
#define WARPFOLD_SERVER_CALLERS_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config.h"
#include "server/core/admission/caller_table.h"
#include "server/observe/log/log.h"
#include "server/system/listen_address.h"

namespace warpfold {

// Of a server that listens at `addresses`. An empty path: the table of one that asks nobody.
// INVALID_ARGUMENT "callers-file: PATH: line 3: ...".
absl::StatusOr<CallerTable> ReadCallers(const std::string& path,
                                        const std::vector<ListenAddress>& addresses);

// The addresses of the gRPC service that other hosts reach.
std::vector<std::string> OpenAddresses(const Config& config);

// What an operator would not want, had they thought of it: addresses at which everyone of another
// host may call, or tokens come in the clear; certificates that nobody asks for.
std::vector<std::string> SecurityWarnings(const Config& config, const CallerTable& callers);

// Logs how many callers there are, and the warnings.
void SayWhoMayCall(const Config& config, const CallerTable& callers, Log& log);

// Logs who has come, gone or changed; nothing where nobody has.
void SayWhoChanged(const CallerChanges& changes, Log& log);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CALLERS_FILE_H_
