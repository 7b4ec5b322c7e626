#include "server/frontend/service.h"

#include "server/frontend/call_record.h"
#include "server/frontend/merge_call.h"
#include "server/frontend/reduce_call.h"
#include "server/frontend/reduce_many_call.h"
#include "server/frontend/reduce_stream_call.h"
#include "server/frontend/status.h"

namespace warpfold {
namespace {

void Fill(const Limits& limits, v1::Limits* out) {
  out->set_max_tensor_bytes(limits.max_tensor_bytes);
  out->set_max_message_bytes(limits.max_message_bytes);
  out->set_max_result_bytes(limits.max_result_bytes);
  out->set_max_rank(limits.max_rank);
  out->set_max_ops(limits.max_ops);
  out->set_max_requests_in_flight(limits.max_requests_in_flight);
  out->set_max_bytes_in_flight(limits.max_bytes_in_flight);
  out->set_stream_idle_timeout_ms(limits.stream_idle_timeout.count());
}

}  // namespace

grpc::ServerUnaryReactor* ReductionServiceImpl::Reduce(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  // gRPC made the buffer for this call alone and has no further use for it; taking its slices lets
  // them go once they are staged instead of when the answer has been sent.
  return ReduceCall::Begin(services_, context, const_cast<grpc::ByteBuffer*>(request), response);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* ReductionServiceImpl::ReduceStream(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return ReduceStreamCall::Begin(services_, context, response);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReductionServiceImpl::ReduceMany(
    grpc::CallbackServerContext* context) {
  return ReduceManyCall::Begin(services_, context);
}

grpc::ServerUnaryReactor* ReductionServiceImpl::Merge(grpc::CallbackServerContext* context,
                                                      const v1::MergeRequest* request,
                                                      v1::ReduceResponse* response) {
  return MergeCall::Begin(services_, context, request, response);
}

grpc::ServerUnaryReactor* ReductionServiceImpl::GetServerInfo(
    grpc::CallbackServerContext* context, const v1::GetServerInfoRequest* /*request*/,
    v1::GetServerInfoResponse* response) {
  *response = info_;
  Fill(services_.limits.Get(), response->mutable_limits());
  return Answer(context, Method::kGetServerInfo, "", absl::OkStatus());
}

grpc::ServerUnaryReactor* ReductionServiceImpl::Answer(grpc::CallbackServerContext* context,
                                                       Method method, std::string_view request_id,
                                                       const absl::Status& status) {
  CallRecord record(services_.metrics, method);
  record.Handled(status.code());
  if (services_.access_log.Takes(status.code(), {})) {
    services_.access_log.Write({.method = method, .code = status.code()}, request_id,
                               context->peer(), {}, status);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status, context));
  return reactor;
}

}  // namespace warpfold
