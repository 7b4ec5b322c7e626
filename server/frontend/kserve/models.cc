#include "server/frontend/kserve/models.h"

#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/ops/catalogue.h"
#include "kernels/ops/describe.h"
#include "server/frontend/kserve/datatype.h"

namespace warpfold::kserve {
namespace {

constexpr char kPlatform[] = "warpfold";
constexpr std::int64_t kAnyLength = -1;
// The protocol has no name for "any of them".
constexpr DType kDeclaredDType = DType::kF32;
constexpr std::size_t kQuotedMax = 64;

std::vector<Model> MakeModels() {
  std::vector<Model> models;
  const auto add = [&models](std::string name, std::vector<Op> ops) {
    models.push_back({models.size(), std::move(name), std::move(ops)});
  };
  for (const Op op : kAllOps) add(Name(op), {op});
  add("describe", {std::begin(kDescribeOps), std::end(kDescribeOps)});
  return models;
}

}  // namespace

const std::vector<Model>& AllModels() {
  static const auto& models = *new std::vector<Model>(MakeModels());
  return models;
}

std::string OutputName(Op op) { return absl::AsciiStrToUpper(Name(op)); }

absl::StatusOr<const Model*> FindModel(absl::string_view name, absl::string_view version,
                                       absl::string_view field_prefix) {
  for (const Model& model : AllModels()) {
    if (model.name != name) continue;
    if (version.empty() || version == kModelVersion) return &model;
    return absl::NotFoundError(absl::StrCat(field_prefix, "version: ", model.name,
                                            " has version 1, not ", Quoted(version)));
  }
  return absl::NotFoundError(absl::StrCat(field_prefix, "name: there is no model ", Quoted(name)));
}

void Describe(const Model& model, inference::ModelMetadataResponse* metadata) {
  metadata->set_name(model.name);
  metadata->add_versions(kModelVersion);
  metadata->set_platform(kPlatform);
  inference::ModelMetadataResponse::TensorMetadata* input = metadata->add_inputs();
  input->set_name(kInputName);
  input->set_datatype(DatatypeName(kDeclaredDType));
  input->add_shape(kAnyLength);
  for (const Op op : model.ops) {
    inference::ModelMetadataResponse::TensorMetadata* output = metadata->add_outputs();
    output->set_name(OutputName(op));
    output->set_datatype(DatatypeName(ResultDType(op, kDeclaredDType)));
    output->add_shape(kAnyLength);
  }
}

void Describe(const Model& model, inference::ModelConfig* config) {
  config->set_name(model.name);
  config->set_platform(kPlatform);
  config->set_backend(kPlatform);
  inference::ModelInput* input = config->add_input();
  input->set_name(kInputName);
  input->set_data_type(DatatypeInConfig(kDeclaredDType));
  input->add_dims(kAnyLength);
  for (const Op op : model.ops) {
    inference::ModelOutput* output = config->add_output();
    output->set_name(OutputName(op));
    output->set_data_type(DatatypeInConfig(ResultDType(op, kDeclaredDType)));
    output->add_dims(kAnyLength);
  }
}

std::string Quoted(absl::string_view text) {
  const std::string escaped = absl::CHexEscape(std::string(text.substr(0, kQuotedMax)));
  return absl::StrCat("'", escaped, text.size() > kQuotedMax ? "...'" : "'");
}

}  // namespace warpfold::kserve
