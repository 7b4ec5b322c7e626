#include "server/frontend/service.h"

#include <memory>

#include "server/frontend/call_record.h"
#include "server/frontend/merge_call.h"
#include "server/frontend/plain_call.h"
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
  out->set_max_batch_requests(limits.max_batch_requests);
  out->set_max_batch_bytes(limits.max_batch_bytes);
  const ResidentLimits& resident = limits.resident;
  out->set_max_resident_bytes(resident.bytes_max);
  out->set_max_resident_tensor_bytes(resident.tensor_bytes_max);
  out->set_max_resident_tensors(resident.tensors_max);
  out->set_max_tensor_pieces(kTensorPiecesMax);
  out->set_resident_ttl_ms(resident.ttl.count());
  out->set_max_resident_ttl_ms(resident.ttl_max.count());
  out->set_max_memory_regions(limits.regions.regions_max);
  out->set_max_shared_memory_bytes(limits.regions.shared_bytes_max);
  out->set_max_cuda_memory_bytes(limits.regions.cuda_bytes_max);
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
                                                      v1::ReduceResponse* response) {
  return MergeCall::Begin(services_, context, request, response);
}

grpc::ServerUnaryReactor* ReductionServiceImpl::GetServerInfo(
    grpc::CallbackServerContext* context, const v1::GetServerInfoRequest* /*request*/,
    v1::GetServerInfoResponse* response) {
  CallRecord record(services_.metrics, Method::kGetServerInfo);
  *response = info_;
  const Limits& limits = services_.limits.Get();
  Fill(limits, response->mutable_limits());
  response->set_shared_memory_prefix(limits.regions.shared_prefix);
  return AnswerPlainCall(services_, context, Method::kGetServerInfo, record, "", absl::OkStatus());
}

}  // namespace warpfold
