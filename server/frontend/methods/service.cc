#include "server/frontend/methods/service.h"

#include <memory>
#include <utility>

#include "server/frontend/calls/reduce_many_call.h"
#include "server/frontend/calls/unary_call.h"
#include "server/frontend/calls/upload_call.h"
#include "server/frontend/methods/merge_handler.h"
#include "server/frontend/methods/reduce_upload.h"
#include "server/frontend/methods/small_handler.h"
#include "server/frontend/native/native_codec.h"
#include "server/frontend/requests/reduction.h"

namespace warpfold {
namespace {

using Of = NativeCodec::Of;

std::unique_ptr<Codec> NewCodec(Of of) { return std::make_unique<NativeCodec>(of); }

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

ReductionServiceImpl::ReductionServiceImpl(const Services& services, v1::GetServerInfoResponse info)
    : RawService(services), info_(std::move(info)) {
  const UnaryCall::MakeHandler reduction = [this](UnaryCall& call) {
    return std::make_unique<Reduction>(services_, Method::kReduce, NewCodec(Of::kCall), call);
  };
  Serve({Method::kReduce, [this, reduction](ArrivedCall arrived) {
           UnaryCall::Begin(services_, Method::kReduce, std::move(arrived),
                            UnaryCall::Reads::kInTurn, reduction);
         }});
  Serve({Method::kReduceStream, [this](ArrivedCall arrived) {
           UploadCall::Begin(services_, Method::kReduceStream, std::move(arrived),
                             [this](UploadCall& call) {
                               return std::make_unique<ReduceUpload>(services_, call);
                             });
         }});
  ServeStream(Method::kReduceMany, [this](const ArrivedStream& arrived) {
    return ReduceManyCall::Begin(
        services_,
        {.method = Method::kReduceMany,
         .order = ReduceManyCall::Order::kAsReady,
         .new_codec = [](const Caller& /*caller*/) { return NewCodec(Of::kItem); }},
        arrived);
  });
  const UnaryCall::MakeHandler merge = [this](UnaryCall& call) {
    return std::make_unique<MergeHandler>(services_, call);
  };
  Serve({Method::kMerge, [this, merge](ArrivedCall arrived) {
           UnaryCall::Begin(services_, Method::kMerge, std::move(arrived),
                            UnaryCall::Reads::kAtOnce, merge);
         }});
  Serve(SmallHandler::Here<v1::GetServerInfoRequest, v1::GetServerInfoResponse>(
      services_, Method::kGetServerInfo, [this](const auto& /*request*/, auto* response) {
        *response = Info();
        return absl::OkStatus();
      }));
}

v1::GetServerInfoResponse ReductionServiceImpl::Info() const {
  v1::GetServerInfoResponse info = info_;
  const Limits& limits = services_.limits.Get();
  Fill(limits, info.mutable_limits());
  info.set_shared_memory_prefix(limits.regions.shared_prefix);
  for (const std::string& warning : services_.security_warnings.Get()) {
    info.add_security_warnings(warning);
  }
  return info;
}

}  // namespace warpfold
