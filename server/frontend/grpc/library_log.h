// What gRPC and protobuf have to say, in the server's log.
//
// Both would write to stderr themselves, in a form of their own, as often as a client gives them
// cause, and on the very threads that serve: a pipe that nobody reads would hold up every call.
#ifndef WARPFOLD_SERVER_FRONTEND_GRPC_LIBRARY_LOG_H_
#define WARPFOLD_SERVER_FRONTEND_GRPC_LIBRARY_LOG_H_

#include "server/observe/log/log.h"

namespace warpfold {

// While it lives, both libraries' lines go to `log`, which must outlive it: at most `lines_per_s`,
// of which the next says how many were left out before it. One at a time, made before threads are.
class LibraryLog {
 public:
  explicit LibraryLog(Log& log, int lines_per_s = 10);
  LibraryLog(const LibraryLog&) = delete;
  LibraryLog& operator=(const LibraryLog&) = delete;
  ~LibraryLog();
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_GRPC_LIBRARY_LOG_H_
