// warpfold.v1.ReductionService on gRPC's callback API.
//
// Step of a request: 1. All methods see the bytes as they came (raw_service.h). gRPC runs all
// reactions on cores / 2 threads for the whole server: none waits, but for the batch that it has
// launched, and that for 50 us at most (SchedulerOptions::caller_wait_max).
#ifndef WARPFOLD_SERVER_FRONTEND_METHODS_SERVICE_H_
#define WARPFOLD_SERVER_FRONTEND_METHODS_SERVICE_H_

#include "server/frontend/calls/raw_service.h"
#include "server/frontend/requests/services.h"
#include "warpfold/v1/reduction.pb.h"

namespace warpfold {

class ReductionServiceImpl final : public RawService {
 public:
  // `info` is what GetServerInfo answers beside the limits in force.
  ReductionServiceImpl(const Services& services, v1::GetServerInfoResponse info);

 private:
  v1::GetServerInfoResponse Info() const;

  const v1::GetServerInfoResponse info_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_METHODS_SERVICE_H_
