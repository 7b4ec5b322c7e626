#include "server/frontend/kserve/infer_exchange.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/refusal.h"
#include "server/frontend/decode.h"
#include "server/frontend/encode.h"
#include "server/frontend/kserve/datatype.h"
#include "server/frontend/kserve/infer_request.h"
#include "server/frontend/kserve/typed_contents.h"
#include "server/frontend/wire_message.h"

namespace warpfold::kserve {
namespace {

constexpr char kRawInputName[] = "raw_input_contents";
constexpr char kFinalMark[] = "triton_final_response";

// What a field of warpfold.v1 at the start of a message is called here; longer names first.
constexpr std::pair<absl::string_view, absl::string_view> kFieldNames[] = {
    {"tensor.shape:", "inputs.shape:"},
    {"tensor:", "inputs:"},
    {"axes:", "parameters.axis:"},
    {"ops:", "outputs:"},
    {"request_id:", "id:"},
    {"data:", "raw_input_contents:"},
};

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
  absl::StatusOr<WireMessage> wire = WireMessage::Split(buffer, kRawInputName, kRawInputField);
  if (!wire.ok()) return wire.status();
  if (wire->header_bytes() > kHeaderBytesMax) {
    return RefusalStatus(NeverFits{}, absl::StrCat("message: what is not raw_input_contents has ",
                                                   wire->header_bytes(),
                                                   " bytes, above the limit of ", kHeaderBytesMax));
  }
  inference::ModelInferRequest request;
  if (absl::Status parsed = wire->ParseHeader(&request); !parsed.ok()) return parsed;
  id_ = request.id();
  message->header.set_request_id(id_);
  absl::StatusOr<const Model*> model =
      FindModel(request.model_name(), request.model_version(), "model_");
  if (!model.ok()) return model.status();
  model_ = *model;
  if (absl::Status status = Translate(request, *model_, &message->header); !status.ok()) {
    return status;
  }
  const auto mark = request.parameters().find(kMarkFinal);
  marks_final_ = mark != request.parameters().end() && mark->second.bool_param();
  if (!wire->has_payload()) return ReadTyped(request, message);
  if (request.inputs(0).has_contents()) {
    return absl::InvalidArgumentError("inputs.contents: raw_input_contents is there too");
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

absl::Status InferExchange::Told(const absl::Status& status) const {
  const absl::string_view message = status.message();
  for (const auto& [ours, theirs] : kFieldNames) {
    if (!absl::StartsWith(message, ours)) continue;
    const bool is_contents = is_typed_ && ours == "data:";
    // Without what it carries: a refusal that names a field never fits, as one without a kind.
    return absl::Status(status.code(), absl::StrCat(is_contents ? "inputs.contents:" : theirs,
                                                    message.substr(ours.size())));
  }
  return status;
}

absl::Status InferExchange::Write(const absl::Status& status, v1::ReduceResponse* response,
                                  grpc::ByteBuffer* out) {
  Count(status, response);
  if (!status.ok()) return Told(status);
  inference::ModelInferResponse answer;
  Fill(response, &answer);
  return Encode(answer, out);
}

grpc::ByteBuffer InferExchange::WriteItem(const std::string& /*request_id*/,
                                          const absl::Status& status,
                                          v1::ReduceResponse* response) {
  Count(status, response);
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
  if (marks_final_) (*answer->mutable_parameters())[kFinalMark].set_bool_param(true);
  for (v1::Result& result : *response->mutable_results()) {
    inference::ModelInferResponse::InferOutputTensor* output = answer->add_outputs();
    output->set_name(OutputOf(result.op()));
    output->set_datatype(NameOf(result.tensor().dtype()));
    *output->mutable_shape() = std::move(*result.mutable_tensor()->mutable_shape());
    answer->add_raw_output_contents(std::move(*result.mutable_data()));
  }
}

}  // namespace warpfold::kserve
