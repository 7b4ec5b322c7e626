// What the running parts say about themselves, for the metrics page.
//
// Step of a request: 4, report. Asked at each scrape, by the metrics server's threads; the parts
// lock for themselves.
#ifndef WARPFOLD_SERVER_PROBE_H_
#define WARPFOLD_SERVER_PROBE_H_

#include "server/core/admission/admission.h"
#include "server/core/regions/region_table.h"
#include "server/core/scheduling/scheduler.h"
#include "server/core/tensors/tensor_table.h"
#include "server/device/backend/backend.h"
#include "server/frontend/grpc/acceptor.h"
#include "server/frontend/grpc/tls.h"
#include "server/memory_limit.h"
#include "server/memory_watch.h"
#include "server/observe/log/log.h"
#include "server/observe/metrics/occupancy.h"

namespace warpfold {

struct ProbedParts {
  const Devices& devices;
  const AdmissionController& admission;
  const Scheduler& scheduler;
  const TensorTable& tensors;
  const RegionTable& regions;
  const Log& log;
  const MemoryLimit& memory_limit;
  const MemoryWatch& memory_watch;
  const TlsCertificate* tls;  // null: no TLS
  const Acceptor& acceptor;
};

// All but `ready`, which is the server's to say.
Occupancy Probe(const ProbedParts& parts);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_PROBE_H_
