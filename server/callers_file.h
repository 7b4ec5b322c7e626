// The file of callers that an operator names (--callers-file).
#ifndef WARPFOLD_SERVER_CALLERS_FILE_H_
#define WARPFOLD_SERVER_CALLERS_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/config.h"
#include "server/core/caller_table.h"
#include "server/observe/log.h"

namespace warpfold {

// An empty path: the table of a server that asks nobody. INVALID_ARGUMENT
// "callers-file: PATH: line 3: ...".
absl::StatusOr<CallerTable> ReadCallers(const std::string& path);

// Whether callers have certificates, and the server asks for none.
bool CertificatesAreNotAsked(const Config& config, const CallerTable& callers);
// Whether other hosts send their tokens without TLS.
bool TokensComeInTheClear(const Config& config, const CallerTable& callers);

// Warns of what an operator would not want, had they thought of it: a port of other hosts at which
// everyone may call, or tokens come in the clear; certificates that nobody asks for.
void SayWhoMayCall(const Config& config, const CallerTable& callers, Log& log);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CALLERS_FILE_H_
