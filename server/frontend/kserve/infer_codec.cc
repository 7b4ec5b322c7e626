#include "server/frontend/kserve/infer_codec.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "kernels/numerics.h"
#include "kernels/ops/catalogue.h"
#include "server/frontend/kserve/datatype.h"
#include "server/frontend/kserve/field_names.h"
#include "server/frontend/kserve/infer_message.h"
#include "server/frontend/kserve/typed_contents.h"

namespace warpfold::kserve {
namespace {

constexpr char kFinalMark[] = "triton_final_response";

}  // namespace

absl::Status InferCodec::Decode(grpc::ByteBuffer* message, Decoded* decoded) {
  if (absl::Status fits = CheckInferMessage(message); !fits.ok()) return fits;
  absl::StatusOr<WireMessage> wire = WireMessage::Split(message, kRawInputField);
  if (!wire.ok()) return wire.status();
  inference::ModelInferRequest request;
  if (absl::Status parsed = wire->ParseHeader(&request); !parsed.ok()) return parsed;
  id_ = request.id();
  decoded->spec.id = id_;
  absl::StatusOr<const Model*> model =
      FindModel(request.model_name(), request.model_version(), "model_");
  if (!model.ok()) return model.status();
  model_ = *model;
  absl::StatusOr<OutputPlaces> places = DecodeInfer(request, *model_, &decoded->spec);
  if (!places.ok()) return places.status();
  if (absl::Status status = TakePlaces(*std::move(places)); !status.ok()) return status;
  const auto mark = request.parameters().find(kMarkFinal);
  marks_final_ = mark != request.parameters().end() && mark->second.bool_param();
  if (!wire->has_payload()) return DecodeTyped(request, decoded);
  if (request.inputs(0).has_contents()) {
    return absl::InvalidArgumentError("inputs.contents: raw_input_contents is there too");
  }
  if (std::holds_alternative<InRegion>(decoded->spec.source)) {
    return absl::InvalidArgumentError("raw_input_contents: the input is in shared memory");
  }
  decoded->payload = wire->TakePayload();
  return absl::OkStatus();
}

absl::Status InferCodec::DecodeTyped(const inference::ModelInferRequest& request,
                                     Decoded* decoded) {
  const inference::ModelInferRequest::InferInputTensor& input = request.inputs(0);
  if (!input.has_contents()) return absl::OkStatus();
  is_typed_ = true;
  absl::StatusOr<std::string> bytes = BytesOf(input.contents(), decoded->spec.reduce.dtype);
  if (!bytes.ok()) return bytes.status();
  decoded->payload.emplace(std::vector<grpc::Slice>{grpc::Slice(*bytes)}, 0, bytes->size());
  return absl::OkStatus();
}

absl::Status InferCodec::TakePlaces(OutputPlaces places) {
  for (std::optional<InRegion>& place : places) {
    Output& output = outputs_.emplace_back();
    if (!place.has_value()) continue;
    absl::StatusOr<RegionLease> lease =
        regions_.UseForResults({caller_.name, place->name}, place->offset_bytes, place->size_bytes);
    if (!lease.ok()) return Renamed(lease.status(), Bytes::kOutput);
    output = {std::move(place), *std::move(lease)};
  }
  return absl::OkStatus();
}

absl::Status InferCodec::WriteOutputs(Answer& answer) {
  // All of them before any is written: a request that is refused has changed nothing.
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].place.has_value()) continue;
    const std::string& data = answer.results[i];
    const std::int64_t size_bytes = outputs_[i].place->size_bytes;
    if (std::ssize(data) > size_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("outputs.parameters.shared_memory_byte_size: is ", size_bytes,
                       ", but the output has ", data.size(), " bytes"));
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].place.has_value()) continue;
    std::string& data = answer.results[i];
    if (absl::Status written = outputs_[i].lease.Write(data); !written.ok()) {
      return Renamed(written, Bytes::kOutput);
    }
    outputs_[i].place->size_bytes = std::ssize(data);
    data.clear();
    outputs_[i].lease.Release();
  }
  return absl::OkStatus();
}

bool InferCodec::WritesToDevice() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
    return output.lease && output.lease.device() != nullptr;
  });
}

absl::Status InferCodec::TranslateError(const absl::Status& status) const {
  return Renamed(status, is_typed_ ? Bytes::kTypedInput : Bytes::kRawInput);
}

absl::Status InferCodec::Encode(const Request& request, const absl::Status& status, Answer* answer,
                                grpc::ByteBuffer* message) {
  Count(status, answer);
  if (!status.ok()) outputs_.clear();
  if (of_ == Of::kItem) return EncodeItem(request, status, answer, message);
  if (!status.ok()) return TranslateError(status);
  inference::ModelInferResponse response;
  Fill(request, *answer, &response);
  return warpfold::Encode(response, message);
}

absl::Status InferCodec::EncodeItem(const Request& request, const absl::Status& status,
                                    Answer* answer, grpc::ByteBuffer* message) {
  inference::ModelStreamInferResponse item;
  absl::Status told = TranslateError(status);
  if (told.ok()) {
    Fill(request, *answer, item.mutable_infer_response());
    told = warpfold::Encode(item, message);
  }
  if (!told.ok()) {
    item.set_error_message(std::string(told.message()));
    item.mutable_infer_response()->Clear();
    item.mutable_infer_response()->set_id(id_);
    warpfold::Encode(item, message).IgnoreError();  // a few bytes: it fits
  }
  return absl::OkStatus();
}

// A request for no known model is nobody's.
void InferCodec::Count(const absl::Status& status, const Answer* answer) {
  if (model_ == nullptr) return;
  if (status.ok()) {
    counts_.CountSuccess(*model_, answer->times);
  } else {
    counts_.CountFailure(*model_, std::chrono::steady_clock::now() - start_);
  }
}

void InferCodec::Fill(const Request& request, Answer& answer,
                      inference::ModelInferResponse* response) const {
  response->set_model_name(model_->name);
  response->set_model_version(kModelVersion);
  response->set_id(id_);
  (*response->mutable_parameters())["numerics_version"].set_int64_param(kNumericsVersion);
  if (marks_final_) (*response->mutable_parameters())[kFinalMark].set_bool_param(true);
  const Plan& plan = request.plan;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    inference::ModelInferResponse::InferOutputTensor* output = response->add_outputs();
    if (const auto& place = outputs_[i].place; place.has_value()) {
      auto& parameters = *output->mutable_parameters();
      parameters["shared_memory_region"].set_string_param(place->name);
      parameters["shared_memory_offset"].set_int64_param(place->offset_bytes);
      parameters["shared_memory_byte_size"].set_int64_param(place->size_bytes);
    }
    output->set_name(OutputName(plan.ops[i]));
    output->set_datatype(DatatypeName(ResultDType(plan.ops[i], plan.dtype)));
    output->mutable_shape()->Assign(plan.result_shape.begin(), plan.result_shape.end());
    // Also for one in a region, empty then: clients count on one for each output.
    response->add_raw_output_contents(std::move(answer.results[i]));
  }
}

}  // namespace warpfold::kserve
