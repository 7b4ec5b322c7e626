#include "server/frontend/service.h"

#include <memory>

#include "server/frontend/answer_at_once.h"
#include "server/frontend/reduce_call.h"
#include "server/frontend/reduce_exchange.h"
#include "server/frontend/reduce_many_call.h"
#include "server/frontend/reduce_stream_call.h"

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
  return ReduceCall::Begin(services_, Method::kReduce, std::make_unique<ReduceExchange>(), context,
                           const_cast<grpc::ByteBuffer*>(request), response);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* ReductionServiceImpl::ReduceStream(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return ReduceStreamCall::Begin(services_, context, response);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReductionServiceImpl::ReduceMany(
    grpc::CallbackServerContext* context) {
  return ReduceManyCall::Begin(services_,
                               {.method = Method::kReduceMany,
                                .order = ReduceManyCall::Order::kAsReady,
                                .new_exchange = std::make_unique<ReduceExchange>},
                               context);
}

grpc::ServerUnaryReactor* ReductionServiceImpl::Merge(grpc::CallbackServerContext* context,
                                                      const v1::MergeRequest* request,
                                                      v1::ReduceResponse* /*response*/) {
  return AnswerAtOnce(services_, context, Method::kMerge, request->request_id(),
                      absl::UnimplementedError("Merge is not in this server yet"));
}

grpc::ServerUnaryReactor* ReductionServiceImpl::GetServerInfo(
    grpc::CallbackServerContext* context, const v1::GetServerInfoRequest* /*request*/,
    v1::GetServerInfoResponse* response) {
  *response = info_;
  Fill(services_.limits.Get(), response->mutable_limits());
  return AnswerAtOnce(services_, context, Method::kGetServerInfo, "", absl::OkStatus());
}

}  // namespace warpfold
