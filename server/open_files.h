// How many descriptors this process may have open: each connection takes two.
//
// Safe from any thread.
#ifndef WARPFOLD_SERVER_OPEN_FILES_H_
#define WARPFOLD_SERVER_OPEN_FILES_H_

#include <cstdint>

#include "absl/status/status.h"

namespace warpfold {

// Below it a crowd of clients can take them all.
inline constexpr std::int64_t kOpenFilesWanted = 65536;
// Below it there are none left for clients. An idle server on the CPU has some 20 open, its own
// connection to its port among them; where a GPU's driver needs more, opening the GPU says so.
inline constexpr std::int64_t kOpenFilesNeeded = 32;

struct OpenFiles {
  std::int64_t soft = 0;  // the limit in force; the largest number where there is none
  std::int64_t hard = 0;  // what the process may raise it to
};

OpenFiles OpenFilesLimit();

// RESOURCE_EXHAUSTED: the server cannot start with `open_files`, or a hard limit of so many.
absl::Status CheckEnoughOpenFiles(std::int64_t open_files);

// Raises the soft limit to the hard one, as far as the system lets it; what is in force then.
std::int64_t RaiseOpenFiles();

// Regions of clients' memory hold one each for as long as they are registered: so many may be open
// that most are left for connections.
std::int64_t RegionsThatFit(std::int64_t open_files);

// So many connections, of two descriptors each (acceptor.h), that the server itself and regions
// have some, too, whoever connects.
std::int64_t ConnectionsThatFit(std::int64_t open_files);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OPEN_FILES_H_
