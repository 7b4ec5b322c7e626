// What the Open Inference Protocol calls models: each op by itself, and "describe", which has the
// statistics of a tensor in one pass. proto/inference/grpc_service.proto says what they answer.
//
// Constants and pure functions.
#ifndef WARPFOLD_SERVER_FRONTEND_KSERVE_MODELS_H_
#define WARPFOLD_SERVER_FRONTEND_KSERVE_MODELS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "inference/grpc_service.pb.h"
#include "kernels/types.h"

namespace warpfold::kserve {

inline constexpr char kModelVersion[] = "1";
inline constexpr char kInputName[] = "INPUT";

struct Model {
  std::size_t index;  // in AllModels
  std::string name;   // "sum"
  std::vector<Op> ops;
};

const std::vector<Model>& AllModels();

// "SUM".
std::string OutputName(Op op);

// NOT_FOUND, starting with `field_prefix` and "name" or "version": no such model, no such version.
// An empty version is the one there is.
absl::StatusOr<const Model*> FindModel(absl::string_view name, absl::string_view version,
                                       absl::string_view field_prefix);

// What ModelMetadata and ModelConfig answer: names, and the datatypes of an FP32 input.
void Describe(const Model& model, inference::ModelMetadataResponse* metadata);
void Describe(const Model& model, inference::ModelConfig* config);

// What a client wrote, fit for a message: in quotes, ASCII, cut to a length that fits in trailers.
std::string Quoted(absl::string_view text);

}  // namespace warpfold::kserve

#endif  // WARPFOLD_SERVER_FRONTEND_KSERVE_MODELS_H_
