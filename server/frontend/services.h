// What the front end works with.
#ifndef WARPFOLD_SERVER_FRONTEND_SERVICES_H_
#define WARPFOLD_SERVER_FRONTEND_SERVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/admission.h"
#include "server/core/caller_table.h"
#include "server/core/in_force.h"
#include "server/core/limits.h"
#include "server/core/region_table.h"
#include "server/core/submitter.h"
#include "server/core/tensor_table.h"
#include "server/core/upload_places.h"
#include "server/core/watchdog.h"
#include "server/frontend/drain_end.h"
#include "server/observe/access_log.h"
#include "server/observe/metrics.h"

namespace warpfold {

// All of it outlives every RPC.
struct Services {
  const InForce<Limits>& limits;
  const InForce<CallerTable>& callers;
  const InForce<std::vector<std::string>>& security_warnings;  // GetServerInfo's
  AdmissionController& admission;
  Submitter& scheduler;
  TensorTable& tensors;
  RegionTable& regions;
  Watchdog& watchdog;
  Metrics& metrics;
  AccessLog& access_log;
  UploadPlaces& uploads;
  const DrainEnd& drain_end;
  std::int64_t piece_bytes;   // that a lane takes at a time
  std::string listener = {};  // by which calls come: its address's name
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_SERVICES_H_
