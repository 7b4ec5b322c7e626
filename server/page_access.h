// Who may read the metrics page, where --metrics-auth asks for it.
#ifndef WARPFOLD_SERVER_PAGE_ACCESS_H_
#define WARPFOLD_SERVER_PAGE_ACCESS_H_

#include <cstdint>

#include "server/core/admission/caller_table.h"
#include "server/observe/log/line_rate.h"
#include "server/observe/log/log.h"
#include "server/observe/metrics/metrics_server.h"

namespace warpfold {

// A caller with the scope `metrics`: by a name of its certificate, else by its bearer token, else
// the anonymous one. Safe from any thread.
class PageGuard {
 public:
  // Others have a line in the log, so many a second at most: who and why, and no token.
  static constexpr std::int64_t kLinesPerS = 10;

  explicit PageGuard(Log& log) : log_(log) {}

  PageAccess AccessOf(const CallerTable& callers, const ShownIdentity& shown);

 private:
  Log& log_;
  LineRate lines_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_PAGE_ACCESS_H_
