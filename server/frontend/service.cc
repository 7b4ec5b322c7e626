#include "server/frontend/service.h"

#include "server/frontend/call_record.h"
#include "server/frontend/reduce_call.h"
#include "server/frontend/reduce_many_call.h"
#include "server/frontend/reduce_stream_call.h"

namespace warpfold {

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
                                                      const v1::MergeRequest* /*request*/,
                                                      v1::ReduceResponse* /*response*/) {
  CallRecord record(services_.metrics, Method::kMerge);
  record.Handled(absl::StatusCode::kUnimplemented);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish({grpc::StatusCode::UNIMPLEMENTED, "Merge is not in this server yet"});
  return reactor;
}

grpc::ServerUnaryReactor* ReductionServiceImpl::GetServerInfo(
    grpc::CallbackServerContext* context, const v1::GetServerInfoRequest* /*request*/,
    v1::GetServerInfoResponse* response) {
  CallRecord record(services_.metrics, Method::kGetServerInfo);
  *response = info_;
  record.Handled(absl::StatusCode::kOk);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace warpfold
