#include "server/frontend/calls/refused_call.h"

#include <chrono>

#include "server/frontend/requests/call_record.h"
#include "server/frontend/wire/status.h"

namespace warpfold {
namespace {

class RefusedStream final : public RawReactor {
 public:
  explicit RefusedStream(const grpc::Status& why) { Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace

void RefusedCall::BeginReading() { LogAndSend(why_); }

RawReactor* RefuseStream(Services& services, Method method, const ArrivedStream& arrived,
                         const absl::Status& why) {
  constexpr std::chrono::nanoseconds kTook{0};
  services.metrics.CountCallHandled(method, why.code(), kTook);
  RecordCall(services,
             {.method = method,
              .status = why,
              .took = kTook,
              .peer = {arrived.context->peer(), arrived.caller->name, arrived.span_or_null()}});
  return new RefusedStream(ToGrpcStatus(why, arrived.span_or_null(), *arrived.context));
}

}  // namespace warpfold
