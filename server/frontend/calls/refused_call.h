// A call that ends before anything of it is read: its caller may not make it.
//
// Step of a request: 1, and the way back.
#ifndef WARPFOLD_SERVER_FRONTEND_CALLS_REFUSED_CALL_H_
#define WARPFOLD_SERVER_FRONTEND_CALLS_REFUSED_CALL_H_

#include <utility>

#include "absl/status/status.h"
#include "server/frontend/calls/answered_call.h"
#include "server/frontend/calls/raw_service.h"
#include "server/frontend/requests/services.h"
#include "server/observe/metrics/method.h"

namespace warpfold {

class RefusedCall final : public AnsweredCall {
 public:
  RefusedCall(Services& services, Method method, ArrivedCall arrived, absl::Status why)
      : AnsweredCall(services, method, std::move(arrived)), why_(std::move(why)) {}

 private:
  void BeginReading() override;
  void OnMessage(grpc::ByteBuffer* /*message*/) override {}
  void OnCancel() override {}
  void OnWaitOverdue() override {}

  const absl::Status why_;
};

// The same of a call that is a reactor of gRPC's.
RawReactor* RefuseStream(Services& services, Method method, const ArrivedStream& arrived,
                         const absl::Status& why);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_FRONTEND_CALLS_REFUSED_CALL_H_
