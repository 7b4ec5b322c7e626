#include "server/frontend/raw_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/impl/rpc_method.h"
#include "grpcpp/impl/rpc_service_method.h"

namespace warpfold {
namespace {

class CoreCallHandler final : public grpc::internal::MethodHandler {
 public:
  explicit CoreCallHandler(RawService::BeginCall begin) : begin_(std::move(begin)) {}

  void RunHandler(const HandlerParameter& parameter) override {
    begin_({.context = static_cast<grpc::CallbackServerContext*>(parameter.server_context),
            .call = parameter.call,
            .release = parameter.call_requester});
  }

 private:
  const RawService::BeginCall begin_;
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
  Add(served.method, std::make_unique<CoreCallHandler>(std::move(served.begin)));
}

void RawService::ServeStream(Method method, BeginStream begin) {
  Add(method,
      std::make_unique<grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>>(
          std::move(begin)));
}

}  // namespace warpfold
