#include "server/frontend/calls/raw_service.h"

#include <chrono>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/impl/rpc_method.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "server/frontend/calls/authentication.h"
#include "server/frontend/calls/core_call.h"
#include "server/frontend/calls/refused_call.h"
#include "server/frontend/wire/grpc_compat.h"

namespace warpfold {
namespace {

Authenticated CallerOf(const Services& services, Method method,
                       const grpc::CallbackServerContext& context) {
  const CallerTable& callers = services.callers.Get();
  if (callers.asks_nobody()) return {&Everyone(), absl::OkStatus()};
  return Authenticate(callers, services.admission.connections(), services.listener, method,
                      context);
}

// Who calls, and whether it may. 1.51 ends a call that comes when its deadline has passed; newer
// gRPCs do it by a timer, and a quick answer would be there first.
Authenticated Admit(const Services& services, Method method,
                    const grpc::CallbackServerContext& context) {
  Authenticated admitted = CallerOf(services, method, context);
  if constexpr (kGrpcIsNewerThan151) {
    if (admitted.status.ok() && DeadlineOf(context) <= std::chrono::system_clock::now()) {
      admitted.status = absl::DeadlineExceededError("Deadline Exceeded");
    }
  }
  return admitted;
}

// Where the client traces the call. More than one traceparent are none.
std::optional<ServerSpan> SpanOf(const grpc::CallbackServerContext& context) {
  const auto [first, last] = context.client_metadata().equal_range("traceparent");
  if (first == last || std::next(first) != last) return std::nullopt;
  return SpanIn(std::string_view(first->second.data(), first->second.size()));
}

class CoreCallHandler final : public grpc::internal::MethodHandler {
 public:
  // `services` outlives it.
  CoreCallHandler(Services& services, RawService::Served served)
      : services_(services), served_(std::move(served)) {}

  void RunHandler(const HandlerParameter& parameter) override {
    ArrivedCall arrived{
        .context = static_cast<grpc::CallbackServerContext*>(parameter.server_context),
        .call = parameter.call,
        .release = parameter.call_requester};
    auto [caller, status, at_address] = Admit(services_, served_.method, *arrived.context);
    arrived.caller = caller;
    arrived.at_address = std::move(at_address);
    arrived.span = SpanOf(*arrived.context);
    if (status.ok()) return served_.begin(std::move(arrived));
    AnsweredCall::Begin(
        std::make_shared<RefusedCall>(services_, served_.method, std::move(arrived), status));
  }

 private:
  Services& services_;
  const RawService::Served served_;
};

}  // namespace

void RawService::Add(Method method, std::unique_ptr<grpc::internal::MethodHandler> handler) {
  const MethodFacts& facts = FactsOf(method);
  paths_.push_back(absl::StrCat("/", facts.service, "/", facts.name));
  // To gRPC all of them stream both ways: so their calls begin with the metadata.
  AddMethod(new grpc::internal::RpcServiceMethod(
      paths_.back().c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(static_cast<int>(paths_.size()) - 1, handler.release());
}

void RawService::Serve(Served served) {
  const Method method = served.method;
  Add(method, std::make_unique<CoreCallHandler>(services_, std::move(served)));
}

void RawService::ServeStream(Method method, BeginStream begin) {
  Add(method,
      std::make_unique<grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>>(
          [this, method, begin = std::move(begin)](grpc::CallbackServerContext* context) {
            const auto [caller, status, at_address] = Admit(services_, method, *context);
            const ArrivedStream arrived{context, caller, SpanOf(*context), at_address};
            return status.ok() ? begin(arrived) : RefuseStream(services_, method, arrived, status);
          }));
}

}  // namespace warpfold
