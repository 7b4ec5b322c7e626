#include "server/frontend/native/native_codec.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/field_error.h"
#include "kernels/numerics.h"
#include "kernels/ops/catalogue.h"
#include "server/frontend/native/decode.h"
#include "server/frontend/native/state_message.h"
#include "server/frontend/wire/status.h"
#include "server/frontend/wire/wire_message.h"

namespace warpfold {
namespace {

static_assert(std::ranges::all_of(kAllOps, [](Op op) { return TrailingDims(op) == 0; }),
              "an op whose results have dimensions of their own has to say their lengths here");

void FillTiming(const AnswerTimes& times, v1::Timing* timing) {
  timing->set_receive_ns(times.receive.count());
  timing->set_queue_ns(times.queue.count());
  timing->set_host_to_device_ns(times.host_to_device.count());
  timing->set_kernel_ns(times.kernel.count());
  timing->set_device_to_host_ns(times.device_to_host.count());
  timing->set_total_ns(times.total.count());
}

void FillResponse(const Request& request, Answer answer, v1::ReduceResponse* response) {
  response->set_request_id(request.id);
  response->set_numerics_version(kNumericsVersion);
  if (request.part.has_value()) {
    response->set_state(EncodeState(*request.part, std::move(answer.results)));
  } else {
    AddResults(request.plan, std::move(answer.results), response);
  }
  response->set_device(std::move(answer.device));
  FillTiming(answer.times, response->mutable_timing());
}

}  // namespace

absl::Status NativeCodec::Decode(grpc::ByteBuffer* message, Decoded* decoded) {
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kDataField);
  if (!wire.ok()) return wire.status();
  v1::ReduceRequest header;
  // Of what is no message no id is kept: it may be no UTF-8, and no answer can tell it.
  if (absl::Status parsed = wire->ParseHeader(&header); !parsed.ok()) return parsed;
  decoded->spec.id = header.request_id();
  if (wire->has_payload()) {
    const auto& sources = header.sources();
    if (!sources.empty() && std::ranges::all_of(sources, LiesElsewhere)) {
      return InvalidField(Field::kData, "the source lies elsewhere");
    }
    decoded->payload = wire->TakePayload();
  }
  absl::StatusOr<RequestSpec> spec = DecodeReduce(header);
  if (!spec.ok()) return spec.status();
  decoded->spec = *std::move(spec);
  return absl::OkStatus();
}

absl::Status NativeCodec::Encode(const Request& request, const absl::Status& status, Answer* answer,
                                 grpc::ByteBuffer* message) {
  if (of_ == Of::kCall) {
    if (!status.ok()) return status;
    const auto response = std::make_shared<v1::ReduceResponse>();
    FillResponse(request, std::move(*answer), response.get());
    return EncodeKept(response, message);
  }
  const auto item = std::make_shared<v1::ReduceManyResponse>();
  item->set_request_id(request.id);
  absl::Status encoded = status;
  if (encoded.ok()) {
    FillResponse(request, std::move(*answer), item->mutable_response());
    encoded = EncodeKept(item, message);
  }
  if (!encoded.ok()) {
    item->clear_response();
    *item->mutable_status() = ToRpcStatus(encoded);
    EncodeKept(item, message).IgnoreError();  // a few bytes: it fits
  }
  return absl::OkStatus();
}

void AddResults(const Plan& plan, std::vector<std::string> results, v1::ReduceResponse* response) {
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    v1::Result* result = response->add_results();
    FillOp(plan.ops[i], plan.correction, result->mutable_spec());
    FillResult(ResultDType(plan.ops[i], plan.dtype), plan.result_shape, {}, std::move(results[i]),
               result);
  }
}

void FillResult(DType dtype, std::span<const std::int64_t> kept, std::span<const std::int64_t> own,
                std::string data, v1::Result* result) {
  v1::TensorSpec& tensor = *result->mutable_tensor();
  tensor.set_dtype(ToProto(dtype));
  for (const std::int64_t length : kept) tensor.add_shape(length);
  for (const std::int64_t length : own) tensor.add_shape(length);
  result->set_trailing_dims(static_cast<std::int32_t>(own.size()));
  result->set_data(std::move(data));
}

}  // namespace warpfold
