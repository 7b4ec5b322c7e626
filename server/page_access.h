// Who may read the metrics page, where --metrics-auth asks for it.
#ifndef WARPFOLD_SERVER_PAGE_ACCESS_H_
#define WARPFOLD_SERVER_PAGE_ACCESS_H_

#include "server/core/caller_table.h"
#include "server/observe/metrics_server.h"

namespace warpfold {

// A caller with the scope `metrics`: by a name of its certificate, else by its bearer token, else
// the anonymous one.
PageAccess AccessOf(const CallerTable& callers, const ShownIdentity& shown);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_PAGE_ACCESS_H_
