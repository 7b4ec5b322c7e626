#include "server/frontend/kserve/infer_exchange.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/frontend/decode.h"
#include "server/frontend/encode.h"
#include "server/frontend/kserve/datatype.h"
#include "server/frontend/kserve/field_names.h"
#include "server/frontend/kserve/infer_message.h"
#include "server/frontend/kserve/typed_contents.h"

namespace warpfold::kserve {
namespace {

constexpr char kFinalMark[] = "triton_final_response";

// "SUM" of OP_SUM.
std::string OutputOf(v1::Op op) { return v1::Op_Name(op).substr(std::size("OP_") - 1); }

const char* NameOf(v1::DType dtype) {
  for (const DType known : kAllDTypes) {
    if (ToProto(known) == dtype) return DatatypeName(known);
  }
  return "";  // an answer has no other
}

}  // namespace

absl::Status InferExchange::Read(grpc::ByteBuffer* buffer, TensorMessage* message) {
  if (absl::Status fits = CheckInferMessage(buffer); !fits.ok()) return fits;
  absl::StatusOr<WireMessage> wire = WireMessage::Split(buffer, kRawInputField);
  if (!wire.ok()) return wire.status();
  inference::ModelInferRequest request;
  if (absl::Status parsed = wire->ParseHeader(&request); !parsed.ok()) return parsed;
  id_ = request.id();
  message->header.set_request_id(id_);
  absl::StatusOr<const Model*> model =
      FindModel(request.model_name(), request.model_version(), "model_");
  if (!model.ok()) return model.status();
  model_ = *model;
  absl::StatusOr<OutputPlaces> places = Translate(request, *model_, &message->header);
  if (!places.ok()) return places.status();
  if (absl::Status status = TakePlaces(*std::move(places)); !status.ok()) return status;
  const auto mark = request.parameters().find(kMarkFinal);
  marks_final_ = mark != request.parameters().end() && mark->second.bool_param();
  if (!wire->has_payload()) return ReadTyped(request, message);
  if (request.inputs(0).has_contents()) {
    return absl::InvalidArgumentError("inputs.contents: raw_input_contents is there too");
  }
  if (message->header.sources(0).has_memory()) {
    return absl::InvalidArgumentError("raw_input_contents: the input is in shared memory");
  }
  message->payload = wire->TakePayload();
  return absl::OkStatus();
}

absl::Status InferExchange::ReadTyped(const inference::ModelInferRequest& request,
                                      TensorMessage* message) {
  const inference::ModelInferRequest::InferInputTensor& input = request.inputs(0);
  if (!input.has_contents()) return absl::OkStatus();
  is_typed_ = true;
  const absl::StatusOr<DType> dtype = DecodeDatatype(input.datatype());
  if (!dtype.ok()) return dtype.status();
  absl::StatusOr<std::string> bytes = BytesOf(input.contents(), *dtype);
  if (!bytes.ok()) return bytes.status();
  message->payload.emplace(std::vector<grpc::Slice>{grpc::Slice(*bytes)}, 0, bytes->size());
  return absl::OkStatus();
}

absl::Status InferExchange::TakePlaces(OutputPlaces places) {
  for (std::optional<v1::MemoryRef>& place : places) {
    Output& output = outputs_.emplace_back();
    if (!place.has_value()) continue;
    absl::StatusOr<RegionLease> lease = regions_.UseForResults(
        {caller_.name, place->name()}, place->offset_bytes(), place->size_bytes());
    if (!lease.ok()) return Renamed(lease.status(), Bytes::kOutput);
    output = {std::move(place), *std::move(lease)};
  }
  return absl::OkStatus();
}

absl::Status InferExchange::Place(v1::ReduceResponse* response) {
  // All of them before any is written: a request that is refused has changed nothing.
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].place.has_value()) continue;
    const std::string& data = response->results(static_cast<int>(i)).data();
    const std::int64_t size_bytes = outputs_[i].place->size_bytes();
    if (std::ssize(data) > size_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("outputs.parameters.shared_memory_byte_size: is ", size_bytes,
                       ", but the output has ", data.size(), " bytes"));
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].place.has_value()) continue;
    std::string& data = *response->mutable_results(static_cast<int>(i))->mutable_data();
    v1::MemoryRef& place = *outputs_[i].place;
    if (absl::Status written = outputs_[i].lease.Write(data); !written.ok()) {
      return Renamed(written, Bytes::kOutput);
    }
    place.set_size_bytes(std::ssize(data));
    data.clear();
    outputs_[i].lease.Release();
  }
  return absl::OkStatus();
}

bool InferExchange::PlacesOnDevice() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
    return output.lease && output.lease.device() != nullptr;
  });
}

absl::Status InferExchange::Told(const absl::Status& status) const {
  return Renamed(status, is_typed_ ? Bytes::kTypedInput : Bytes::kRawInput);
}

absl::Status InferExchange::Write(const absl::Status& status, v1::ReduceResponse* response,
                                  grpc::ByteBuffer* out) {
  Count(status, response);
  if (!status.ok()) outputs_.clear();
  if (!status.ok()) return Told(status);
  inference::ModelInferResponse answer;
  Fill(response, &answer);
  return Encode(answer, out);
}

grpc::ByteBuffer InferExchange::WriteItem(const std::string& /*request_id*/,
                                          const absl::Status& status,
                                          v1::ReduceResponse* response) {
  Count(status, response);
  if (!status.ok()) outputs_.clear();
  inference::ModelStreamInferResponse answer;
  grpc::ByteBuffer out;
  absl::Status told = Told(status);
  if (told.ok()) {
    Fill(response, answer.mutable_infer_response());
    told = Encode(answer, &out);
  }
  if (!told.ok()) {
    answer.set_error_message(std::string(told.message()));
    answer.mutable_infer_response()->Clear();
    answer.mutable_infer_response()->set_id(id_);
    Encode(answer, &out).IgnoreError();  // a few bytes: it fits
  }
  return out;
}

// A request for no known model is nobody's.
void InferExchange::Count(const absl::Status& status, const v1::ReduceResponse* response) {
  if (model_ == nullptr) return;
  if (status.ok()) {
    counts_.CountSuccess(*model_, response->timing());
  } else {
    counts_.CountFailure(*model_, std::chrono::steady_clock::now() - start_);
  }
}

void InferExchange::Fill(v1::ReduceResponse* response,
                         inference::ModelInferResponse* answer) const {
  answer->set_model_name(model_->name);
  answer->set_model_version(kModelVersion);
  answer->set_id(id_);
  (*answer->mutable_parameters())["numerics_version"].set_int64_param(response->numerics_version());
  if (marks_final_) (*answer->mutable_parameters())[kFinalMark].set_bool_param(true);
  for (int i = 0; i < response->results_size(); ++i) {
    v1::Result& result = *response->mutable_results(i);
    inference::ModelInferResponse::InferOutputTensor* output = answer->add_outputs();
    if (const auto& place = outputs_[static_cast<std::size_t>(i)].place; place.has_value()) {
      auto& parameters = *output->mutable_parameters();
      parameters["shared_memory_region"].set_string_param(place->name());
      parameters["shared_memory_offset"].set_int64_param(place->offset_bytes());
      parameters["shared_memory_byte_size"].set_int64_param(place->size_bytes());
    }
    output->set_name(OutputOf(result.spec().op()));
    output->set_datatype(NameOf(result.tensor().dtype()));
    *output->mutable_shape() = std::move(*result.mutable_tensor()->mutable_shape());
    // Also for one in a region, empty then: clients count on one for each output.
    answer->add_raw_output_contents(std::move(*result.mutable_data()));
  }
}

}  // namespace warpfold::kserve
