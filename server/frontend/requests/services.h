// What the front end works with.
#ifndef WARPFOLD_SERVER_FRONTEND_REQUESTS_SERVICES_H_
#define WARPFOLD_SERVER_FRONTEND_REQUESTS_SERVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/admission/admission.h"
#include "server/core/admission/caller_table.h"
#include "server/core/admission/upload_places.h"
#include "server/core/base/in_force.h"
#include "server/core/base/limits.h"
#include "server/core/base/watchdog.h"
#include "server/core/regions/region_table.h"
#include "server/core/scheduling/submitter.h"
#include "server/core/tensors/tensor_table.h"
#include "server/frontend/requests/drain_end.h"
#include "server/observe/log/access_log.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/span_sink.h"

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
  std::int64_t segment_bytes;  // that a worker takes at a time
  SpanSink* spans = nullptr;   // null: nobody takes spans
  std::string listener = {};   // by which calls come: its address's name
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_REQUESTS_SERVICES_H_
